/** A search that was understood: what is asked for, of whom, and where its page begins. */
import { type AccessFilter, createAccessFilter, linkedBy, UNRESTRICTED } from '../access/access-filter.ts'
import { type PagePosition, verifyPageToken } from '../query/page-token.ts'
import { type ResolvedParameters, resolveParameters } from '../query/resolve-parameters.ts'
import type { SearchContext } from '../query/search-context.ts'
import type { SearchRequest } from '../query/search-parameters.ts'
import type { SearchQuery } from '../query/search-query.ts'
import { typesOf } from '../query/search-scope.ts'
import { selfLinkParameters } from '../query/self-link.ts'
import type { SearchDeadline } from './deadline.ts'
import type { Direction } from './plan.ts'
import type { PlannedSearch } from './planned-search.ts'
import type { SearchView } from './search-view.ts'

export type Tracer = ReturnType<PlannedSearch['tracer']>

/** A search that was understood. */
export interface ResolvedSearch {
  readonly view: SearchView
  readonly query: SearchQuery
  readonly deadline: SearchDeadline
  readonly tracer: Tracer | undefined
  /** Types to look among. */
  readonly types: readonly string[]
  readonly context: SearchContext
  readonly access: AccessFilter
  readonly resolved: ResolvedParameters
  /** Nothing but the number of matches is asked for. */
  readonly countOnly: boolean
}

/** Whatever in a search may name a parameter. */
const namesOf = ({ criteria, includes, revincludes, sort = '' }: SearchRequest): readonly string[] => [
  // A filter names its parameters in its value.
  ...criteria.flatMap(([name, value]) => (name.endsWith('_filter') ? [name, value] : [name])),
  ...[...includes, ...revincludes].map(({ text }) => text.slice(text.indexOf('=') + 1)),
  sort,
]

/** Throws 400 for what is not understood. */
export const resolveSearch = async (
  asks: Pick<ResolvedSearch, 'view' | 'query' | 'deadline' | 'tracer'>,
): Promise<ResolvedSearch> => {
  const { view, query } = asks
  const { search, catalog, clock } = view
  const { context, scope, request, ruling, shown } = query
  await search.refreshDefinitions?.(namesOf(request))
  const types = await typesOf(view, scope, request, ruling)
  const base = { ownUrl: context.ownUrl, now: clock.now(), snapshotKey: await search.snapshotKey() }
  const access: AccessFilter =
    ruling.restrictions.length === 0 ? UNRESTRICTED : createAccessFilter(ruling, search.criteria, base)
  const asking: SearchContext = { ...base, ...linkedBy(access) }
  // With nothing stored there is still a right and a wrong way to ask.
  const meant = types.length > 0 ? types : [...catalog.types.keys()].slice(0, 1)
  const resolved = await resolveParameters(view, query, meant, asking)
  const countOnly = resolved.count === 0 || shown.countOnly
  return { ...asks, types, context: asking, access, resolved, countOnly }
}

/** Throws 400. */
export const checkIncludes = ({ view: { search, catalog }, resolved: { request } }: ResolvedSearch): void => {
  for (const include of [...request.includes, ...request.revincludes])
    search.includer.check(include, (type) => catalog.types.has(type))
}

/** Path and parameters as they were understood, which pages are bound to. */
export const pageAddressOf = ({ query: { scope }, resolved: { request, shown, count } }: ResolvedSearch): string =>
  `${scope.path}?${selfLinkParameters(request, shown, count)}`

/** Where a page begins; or, read towards what is newer, what it ends before. */
export interface Start {
  readonly position: PagePosition
  readonly direction: Direction
}

const BEFORE = 'before'

/** What a link holds. One for a page that ends before a match has a value more than there are keys to sort by. */
export const toStart = ({ keys, ...rest }: PagePosition, direction: Direction): PagePosition => ({
  ...rest,
  keys: direction === 'older' ? keys : [...keys, BEFORE],
})

/** Throws 400 for a link that was given for another search, or to somebody else. */
export const startOf = ({ view, query, context, resolved }: ResolvedSearch, address: string): Start => {
  const { page } = resolved.request
  if (page === undefined)
    return {
      position: { snapshotKey: context.snapshotKey, rid: Number.MAX_SAFE_INTEGER, keys: [] },
      direction: 'older',
    }
  const position = verifyPageToken(view.search.registry.key, view.clock, query.context.caller, address, page)
  const keys = position.keys.slice(0, resolved.keys.length)
  return { position: { ...position, keys }, direction: keys.length < position.keys.length ? 'newer' : 'older' }
}
