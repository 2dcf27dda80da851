/** A search of a usual shape, answered in the turn it arrived in: see search/usual. */
import type { Ruling } from '../../../kernel/index.ts'
import { andThen, type Eventually } from '../../database/service.ts'
import type { KeptEntries } from '../../search/service.ts'
import { extent, readUsualQuery } from '../../search/service.ts'
import { checkAccept } from '../http/media.ts'
import { queryOf } from '../interactions/query-of.ts'
import type { Asked } from '../interactions/request.ts'
import type { FhirServer } from '../parts.ts'
import { entriesOf, toKeep, toPage } from './fast-page.ts'
import type { FoundPage } from './searchset-page.ts'

/** Undefined, at once or later, for a search that has to be understood first; the ruling is applied there, too. */
export const findUsual = (
  server: FhirServer,
  asked: Asked,
  type: string | undefined,
  ruling: Ruling,
): Eventually<FoundPage | undefined> => {
  const { usual } = server.search
  const { ctx, headers, url, body } = asked
  if (usual === undefined || type === undefined || extent(ruling, type, 's') !== 'all') return undefined
  if (body instanceof Uint8Array) return undefined
  const { baseUrl, ownUrl } = ctx
  const pageWith = (entries: KeptEntries, rows: readonly { readonly rid: number }[], text: string, count: number) => {
    checkAccept(headers.accept, undefined)
    return toPage(server, ctx, `/${type}?${text}&_count=${count}`, rows, count, entries)
  }
  const kept = usual.kept(url, type, ctx)
  if (kept !== undefined) {
    const { entries, rows, text, count } = kept
    if (entries !== undefined) return pageWith(entries, rows, text, count)
    return andThen(usual.versions(kept), (found) => {
      if (found === undefined || found.some(server.large.concernsVersion)) return undefined
      const made = entriesOf(server, ctx, found, count)
      usual.answered(kept, made.length, () => toKeep(server, made))
      return pageWith(made, rows, text, count)
    })
  }
  const query = readUsualQuery(queryOf(url))
  if (query === undefined) return undefined
  const { page } = server
  const count = Math.min(query.count ?? page.usual, page.most)
  return andThen(usual.find({ url, type, baseUrl, ownUrl, query, count }), (found) =>
    found === undefined || found.some(server.large.concernsVersion)
      ? undefined
      : pageWith(entriesOf(server, ctx, found, count), found, query.text, count),
  )
}
