/**
 * Answers a search of a frequent shape, synchronously where possible. The caller passes the functions that display
 * matches, because their output is cached.
 */
import type { RequestContext, Ruling } from '../../../kernel/index.ts'
import { chain, type MaybePromise } from '../../database/service.ts'
import type { StoredVersion } from '../../storage/service.ts'
import { extent } from '../access/extent.ts'
import type { Registry } from '../index/registry.ts'
import type { SearchView } from '../plan/search-view.ts'
import { signPageToken } from '../query/page-token.ts'
import type { FastSearch } from './fast-search.ts'
import type { CachedEntries } from './page-cache.ts'
import { parseSimpleQuery } from './simple-query.ts'

export interface FastQuery {
  readonly context: Pick<RequestContext, 'baseUrl' | 'ownUrl' | 'caller'>
  readonly ruling: Ruling
  /** The only searched type. */
  readonly type: string
  /** Path and query as they were sent; `query` is the query alone. */
  readonly url: string
  readonly query: string
}

/** How matches are displayed. */
export interface FastDisplay {
  /** False for versions that must not be displayed on the main thread, because they are large. */
  takes(versions: readonly StoredVersion[]): boolean
  /** Displays the first `count` versions. */
  show(versions: readonly StoredVersion[], count: number): CachedEntries
  /** Returns entries of the page that can be cached as long as none of the versions changes. */
  keep(page: FastPage): CachedEntries
}

export interface FastPage {
  readonly entries: CachedEntries
  /** Path and parameters, as page links repeat them. */
  readonly address: string
  /** Set when the page holds all matches. */
  readonly total: number | undefined
  /** Makes the token of the next page. Undefined on the last page. */
  readonly next: (() => string) | undefined
}

export interface FastView extends Pick<SearchView, 'clock' | 'page'> {
  readonly search: {
    /** Undefined in a transaction. */
    readonly fast: FastSearch | undefined
    readonly registry: Pick<Registry, 'key'>
  }
}

/**
 * Returns undefined, or a promise of it, for a search that the general search has to perform, such as any by a caller
 * with limited access to the type.
 */
export const findFast = (
  { search, clock, page }: FastView,
  { context, ruling, type, url, query }: FastQuery,
  { takes, show, keep }: FastDisplay,
): MaybePromise<FastPage | undefined> => {
  const { fast, registry } = search
  if (fast === undefined || extent(ruling, type, 's') !== 'all') return undefined
  const pageOf = (
    entries: CachedEntries,
    rows: readonly { readonly rid: number }[],
    text: string,
    count: number,
  ): FastPage => {
    const address = `/${type}?${text}&_count=${count}`
    // This is the first page, so when it holds all matches their number is the total.
    if (rows.length <= count) return { entries, address, total: rows.length, next: undefined }
    // Rows come in descending order of rid. The rid of the first row is the upper bound of the next pages, so that they
    // exclude resources that are created later.
    const position = { snapshotKey: rows[0]!.rid, rid: rows[count - 1]!.rid, keys: [] }
    return {
      entries,
      address,
      total: undefined,
      next: () => signPageToken(registry.key, clock, context.caller, address, position),
    }
  }
  const kept = fast.cached(url, type, context)
  if (kept !== undefined) {
    const { entries, rows, text, count } = kept
    if (entries !== undefined) return pageOf(entries, rows, text, count)
    return chain(fast.versions(kept), (found) => {
      if (found === undefined || !takes(found)) return undefined
      const made = pageOf(show(found, count), rows, text, count)
      fast.answered(kept, made.entries.length, () => keep(made))
      return made
    })
  }
  const asked = parseSimpleQuery(query)
  if (asked === undefined) return undefined
  const { baseUrl, ownUrl } = context
  const count = Math.min(asked.count ?? page.default, page.max)
  return chain(fast.find({ url, type, baseUrl, ownUrl, query: asked, count }), (found) =>
    found === undefined || !takes(found) ? undefined : pageOf(show(found, count), found, asked.text, count),
  )
}
