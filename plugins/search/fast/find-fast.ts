/** A search of a usual shape, answered in the turn it arrived in. Who shows the matches passes in how, since what was shown is kept. */
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
  /** The only type that is searched. */
  readonly type: string
  /** Path and query as they were sent, and the query alone. */
  readonly url: string
  readonly query: string
}

/** How matches are shown. */
export interface FastDisplay {
  /** False for what the main thread must not show. */
  takes(versions: readonly StoredVersion[]): boolean
  /** Of the first `count`. */
  show(versions: readonly StoredVersion[], count: number): CachedEntries
  /** The same to be kept, for as long as none of them changes. */
  keep(entries: CachedEntries): CachedEntries
}

export interface FastPage {
  readonly entries: CachedEntries
  /** Path and parameters, as links repeat them. */
  readonly address: string
  /** Known where the page holds all matches. */
  readonly total: number | undefined
  /** Makes the token of the next page; undefined where there is none. */
  readonly next: (() => string) | undefined
}

export interface FastView extends Pick<SearchView, 'clock' | 'page'> {
  readonly search: {
    /** Undefined in a transaction. */
    readonly fast: FastSearch | undefined
    readonly registry: Pick<Registry, 'key'>
  }
}

/** Undefined, at once or later, for a search that has to be understood first; the ruling is applied there, too. */
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
    // It is the first page: where it holds all matches it tells their number.
    if (rows.length <= count) return { entries, address, total: rows.length, next: undefined }
    // Pages go on below the last rid shown: nothing newer than the first one can come.
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
      const made = show(found, count)
      fast.answered(kept, made.length, () => keep(made))
      return pageOf(made, rows, text, count)
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
