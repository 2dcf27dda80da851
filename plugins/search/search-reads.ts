/** The searches that other plugins call: on committed data, or inside a transaction. */
import type { RequestContext, Ruling } from '../../kernel/index.ts'
import type { MaybePromise, Transaction } from '../database/service.ts'
import type { StoredVersion } from '../storage/service.ts'
import { type FastDisplay, type FastPage, type FastQuery, findFast } from './fast/find-fast.ts'
import type { Search } from './open-search.ts'
import { type CompartmentPage, type CompartmentQuery, findCompartment } from './plan/compartment-page.ts'
import { type ConditionalSearch, findMatches } from './plan/find-matches.ts'
import { findLabelled } from './plan/labels.ts'
import { findPage } from './plan/search-page.ts'
import type { SearchView } from './plan/search-view.ts'
import { readStreamPage, type StreamPage, type StreamQuery } from './plan/stream-page.ts'
import type { SearchPage, SearchQuery } from './query/search-query.ts'
import { type SearchAddress, type SearchScope, scopeOf } from './query/search-scope.ts'

/** The view that the searches run on. */
export interface WholeView extends SearchView {
  readonly search: Search
}

export interface SearchReads {
  /** Only for the code of this plugin. */
  readonly view: WholeView
  /** The types and the compartment that an address such as `Patient/1/Observation` searches. Throws 404. */
  scope(address: SearchAddress): SearchScope
  /** Performs a search of any shape. Throws 400, 403. */
  page(query: SearchQuery): Promise<SearchPage>
  /** All matches, page by page. Throws 403 where it takes too long. */
  stream(query: StreamQuery): Promise<StreamPage>
  /** Finds the resources of a type that match criteria and that the ruling lets the caller see. Throws 400, 403. */
  matches(
    context: Pick<RequestContext, 'ownUrl' | 'signal'>,
    ruling: Ruling,
    type: string,
    criteria: readonly (readonly [string, string])[],
  ): Promise<ConditionalSearch>
  /** Performs a search of a frequent shape. Returns undefined, or a promise of it, for any other shape. */
  fast(query: FastQuery, display: FastDisplay): MaybePromise<FastPage | undefined>
  /** Returns the resources of a compartment, page by page. Throws 400, 403. */
  compartment(query: CompartmentQuery): Promise<CompartmentPage>
  /**
   * Returns resources that together carry every profile, tag and security label in use, of some types or of all.
   * Undefined where they would be more than `most`.
   */
  labelled(
    types: readonly string[] | undefined,
    most: number,
    asking: { readonly signal: AbortSignal },
  ): Promise<readonly StoredVersion[] | undefined>
  /** The largest resource key at this moment. */
  snapshotKey(): Promise<number>
  inside(transaction: Transaction): SearchReads
}

export const createSearchReads = (view: WholeView): SearchReads => {
  const { search } = view
  return {
    view,
    scope: (address) => scopeOf(view, address),
    page: (query) => findPage(view, query),
    stream: (query) => readStreamPage(view, query),
    matches: (context, ruling, type, criteria) => findMatches(view, context, ruling, type, criteria),
    fast: (query, display) => findFast(view, query, display),
    compartment: (query) => findCompartment(view, query),
    async labelled(types, most, asking) {
      const rids = await findLabelled(view, types ?? (await search.usedTypes()), most, asking)
      return rids.length > most ? undefined : search.executor.versions(rids, asking)
    },
    snapshotKey: () => search.snapshotKey(),
    inside: (transaction) => createSearchReads({ ...view, transaction, search: search.within(transaction) }),
  }
}
