/** A search of a usual shape, answered in the turn it arrived in. */
import type { Ruling } from '../../../kernel/index.ts'
import { chain, type MaybePromise } from '../../database/service.ts'
import { findFast } from '../../search/service.ts'
import { checkAccept } from '../http/media.ts'
import { queryOf } from '../interactions/query-of.ts'
import type { InteractionRequest } from '../interactions/request.ts'
import type { FhirServer } from '../parts.ts'
import { searchsetEntries, toCacheEntry, toPage } from './fast-page.ts'
import type { SearchsetPage } from './searchset-page.ts'

/** Undefined, at once or later, for a search that has to be understood first. */
export const searchFast = (
  server: FhirServer,
  { ctx, headers, url, body }: InteractionRequest,
  type: string | undefined,
  ruling: Ruling,
): MaybePromise<SearchsetPage | undefined> => {
  if (type === undefined || body instanceof Uint8Array) return undefined
  const found = findFast(
    server,
    { context: ctx, ruling, type, url, query: queryOf(url) },
    {
      takes: (versions) => !versions.some(server.large.concernsVersion),
      show: (versions, count) => searchsetEntries(server, ctx, versions, count),
      keep: (entries) => toCacheEntry(server, entries),
    },
  )
  return chain(found, (page) => {
    if (page === undefined) return undefined
    checkAccept(headers.accept, undefined)
    return toPage(server, ctx, page)
  })
}
