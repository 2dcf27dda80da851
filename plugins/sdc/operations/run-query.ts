/** Performs a FHIR query as the caller of an operation. */
import { isServerError, type OwnUrl } from '../../../kernel/index.ts'
import type { CurrentResource, SessionReads } from '../../fhir/service.ts'
import type { Reading } from '../threads/ask.ts'

/** Matches of one query, over its pages. */
const MAX_MATCHES = 1_000
const SEARCH = /^([A-Z][A-Za-z]+)(?:\?(.*))?$/s
const READ = /^([A-Z][A-Za-z]+)\/([A-Za-z0-9\-.]{1,64})$/

type Queries = Pick<SessionReads, 'read' | 'search'>

const entryOf = ({ type, id, json }: CurrentResource, mode: 'match' | 'include'): string =>
  `{"fullUrl":"${type}/${id}","resource":${json},"search":{"mode":"${mode}"}}`

/** All pages, up to the limit; one page where the query says how many it wants. */
const search = async (data: Queries, type: string, query: string): Promise<Reading> => {
  const hasCount = /(^|&)_count=/.test(query)
  const entries: string[] = []
  let matches = 0
  let after: string | undefined
  let total: number | undefined
  do {
    const page = await data.search(type, query, after === undefined ? {} : { after })
    matches += page.matches.length
    total ??= page.total
    for (const one of page.matches) entries.push(entryOf(one, 'match'))
    for (const one of page.included) entries.push(entryOf(one, 'include'))
    after = page.next
  } while (after !== undefined && !hasCount && matches < MAX_MATCHES)
  if (after !== undefined && !hasCount)
    return { refused: `It finds more than ${MAX_MATCHES} resources; narrow it, or add _count.` }
  const counted = total ?? (after === undefined ? matches : undefined)
  const shown = counted === undefined ? '' : `"total":${counted},`
  return { json: `{"resourceType":"Bundle","type":"searchset",${shown}"entry":[${entries.join(',')}]}` }
}

/** `Type?parameters` or `Type/id`, also below this server's own URL. What the caller may not see is answered as if it were not there. */
export const runQuery = async (data: Queries, query: string, ownUrl: OwnUrl | undefined): Promise<Reading> => {
  const isOwn = ownUrl !== undefined && query.startsWith(`${ownUrl}/`)
  const path = isOwn ? query.slice(ownUrl.length + 1) : query.replace(/^\//, '')
  try {
    const [, type, id] = READ.exec(path) ?? []
    if (type !== undefined && id !== undefined) return { json: (await data.read(type, id)).json }
    const [, searched, parameters = ''] = SEARCH.exec(path) ?? []
    if (searched !== undefined) return await search(data, searched, parameters)
  } catch (error) {
    if (!isServerError(error) || error.status >= 500) throw error
    return { refused: error.message }
  }
  return { refused: 'It is no search of one type and no read by id on this server.' }
}
