/** Formats the rows of a search as a searchset Bundle, or line by line. */
import type { RequestContext } from '../../../kernel/index.ts'
import { toAuditEvent } from '../fhir/audit-event.ts'
import type { Row } from '../tables.ts'
import type { AuditSearch } from './find.ts'
import { type AuditQuery, pageSize } from './parameters.ts'

const LINES_PAGE = 500 // rows made into lines at once

const linkWith = ({ baseUrl, url }: RequestContext, page: string | undefined): string => {
  const [path = '', query = ''] = url.split('?')
  const parameters = new URLSearchParams(query)
  if (page !== undefined) parameters.set('_page', page)
  const text = parameters.toString()
  return `${baseUrl}${path}${text === '' ? '' : `?${text}`}`
}

export const toBundle = async (
  finder: AuditSearch,
  request: RequestContext,
  asked: AuditQuery,
  chain: string,
): Promise<string> => {
  const size = pageSize(asked)
  const found = await finder.findInTime(asked.conditions, asked.page, size + 1, request.signal)
  const shown = found.slice(0, size)
  const last = shown.at(-1)
  const link = [{ relation: 'self', url: linkWith(request, undefined) }]
  if (found.length > size && last !== undefined)
    link.push({ relation: 'next', url: linkWith(request, String(last.seq)) })
  return JSON.stringify({
    resourceType: 'Bundle',
    type: 'searchset',
    link,
    ...(shown.length > 0 && {
      entry: shown.map((row) => ({
        fullUrl: `${request.baseUrl}/AuditEvent/${row.seq}`,
        resource: toAuditEvent(row, chain),
        search: { mode: 'match' },
      })),
    }),
  })
}

/** Yields all matches, or `_count` of them, as lines. A page is read when the reader has taken the one before. */
export async function* toLines(
  finder: AuditSearch,
  { signal }: RequestContext,
  { conditions, page, count = Number.POSITIVE_INFINITY }: AuditQuery,
  chain: string,
): AsyncGenerator<string> {
  let before = page
  for (let left = count; left > 0; ) {
    const limit = Math.min(left, LINES_PAGE)
    const rows: readonly Row[] = await finder.find(conditions, before, limit, signal)
    if (rows.length > 0) yield rows.map((row) => `${JSON.stringify(toAuditEvent(row, chain))}\n`).join('')
    before = rows.at(-1)?.seq
    left -= rows.length
    if (rows.length < limit) return
  }
}
