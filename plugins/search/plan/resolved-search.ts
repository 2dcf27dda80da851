/** A search whose parameters are resolved, with the caller's access and the position of its page. */
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

/** A search whose parameters are resolved. */
export interface ResolvedSearch {
  readonly view: SearchView
  readonly query: SearchQuery
  readonly deadline: SearchDeadline
  readonly tracer: Tracer | undefined
  /** Names of the types to search. */
  readonly types: readonly string[]
  readonly context: SearchContext
  readonly access: AccessFilter
  readonly resolved: ResolvedParameters
  /** True when only the number of matches is requested. */
  readonly countOnly: boolean
}

/** All parts of a search that may contain names of parameters. */
const namesOf = ({ criteria, includes, revincludes, sort = '' }: SearchRequest): readonly string[] => [
  // The value of a `_filter` contains names of parameters.
  ...criteria.flatMap(([name, value]) => (name.endsWith('_filter') ? [name, value] : [name])),
  ...[...includes, ...revincludes].map(({ text }) => text.slice(text.indexOf('=') + 1)),
  sort,
]

/** Throws 400 for unsupported parameters. */
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
  // With no types to search, the parameters are still checked, against one type.
  const meant = types.length > 0 ? types : [...catalog.types.keys()].slice(0, 1)
  const resolved = await resolveParameters(view, query, meant, asking)
  const countOnly = resolved.count === 0 || shown.countOnly
  return { ...asks, types, context: asking, access, resolved, countOnly }
}

/** Throws 400 for an include of an unknown type or parameter. */
export const checkIncludes = ({ view: { search, catalog }, resolved: { request } }: ResolvedSearch): void => {
  for (const include of [...request.includes, ...request.revincludes])
    search.includer.check(include, (type) => catalog.types.has(type))
}

/** The path and parameters as they were understood. Page tokens are bound to this text. */
export const pageAddressOf = ({ query: { scope }, resolved: { request, shown, count } }: ResolvedSearch): string =>
  `${scope.path}?${selfLinkParameters(request, shown, count)}`

/** The position after which a page begins; for direction `newer`, before which it ends. */
export interface Start {
  readonly position: PagePosition
  readonly direction: Direction
}

const BEFORE = 'before'

/** The position as a page token holds it. For a page that ends before a match, an extra key marks the direction. */
export const toStart = ({ keys, ...rest }: PagePosition, direction: Direction): PagePosition => ({
  ...rest,
  keys: direction === 'older' ? keys : [...keys, BEFORE],
})

/** Throws what `verifyPageToken` throws for an invalid token. */
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
