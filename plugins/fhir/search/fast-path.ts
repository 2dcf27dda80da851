/** A fast search, answered synchronously where possible. */
import type { Ruling } from '../../../kernel/index.ts'
import { chain, type MaybePromise } from '../../database/service.ts'
import { checkAccept } from '../http/media.ts'
import { queryOf } from '../interactions/query-of.ts'
import type { InteractionRequest } from '../interactions/request.ts'
import type { LargeBodies } from '../large/large-bodies.ts'
import type { View } from '../view.ts'
import { type FastPageParts, searchsetEntries, toCacheEntry, toPage } from './fast-page.ts'
import type { SearchsetPage } from './searchset-page.ts'

export interface SearchFastParts extends FastPageParts {
  readonly large: Pick<LargeBodies, 'concernsVersion'>
}

/** Returns undefined, synchronously or later, for a search that has to be planned. */
export const searchFast = (
  parts: SearchFastParts,
  { search, run }: View,
  { ctx, headers, url, body }: InteractionRequest,
  type: string | undefined,
  ruling: Ruling,
): MaybePromise<SearchsetPage | undefined> => {
  if (type === undefined || body instanceof Uint8Array) return undefined
  const found = search.fast(
    { context: ctx, ruling, type, url, query: queryOf(url) },
    {
      takes: (versions) => !versions.some(parts.large.concernsVersion),
      show: (versions, count) => searchsetEntries(parts, ctx, versions, count),
      keep: (page) => toCacheEntry(run, ctx, page),
    },
  )
  return chain(found, (page) => {
    if (page === undefined) return undefined
    checkAccept(headers.accept, undefined)
    return toPage(parts, ctx, page)
  })
}
