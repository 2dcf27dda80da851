/** A search that was understood: what is asked for, of whom, and where its page begins. */
import { type Access, OPEN, toAccess } from '../access/access-filter.ts'
import type { Search } from '../open-search.ts'
import { openPage, type PagePosition } from '../query/page-token.ts'
import { typesOf } from '../query/scope.ts'
import type { Asking } from '../query/search-context.ts'
import type { SearchRequest } from '../query/search-parameters.ts'
import type { SearchQuery } from '../query/search-query.ts'
import type { SearchView } from '../query/search-view.ts'
import { linkParameters } from '../query/self-link.ts'
import { type Understood, understand } from '../query/understand.ts'
import type { SearchPatience } from './deadline.ts'
import type { Direction } from './plan.ts'

export type Tracer = ReturnType<Search['tracer']>

/** A search that was understood. */
export interface Finding {
  readonly view: SearchView
  readonly query: SearchQuery
  readonly patience: SearchPatience
  readonly tracer: Tracer | undefined
  /** Types to look among. */
  readonly types: readonly string[]
  readonly asking: Asking
  readonly access: Access
  readonly understood: Understood
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
export const toFinding = async (asks: Pick<Finding, 'view' | 'query' | 'patience' | 'tracer'>): Promise<Finding> => {
  const { view, query } = asks
  const { search, catalog, clock } = view
  const { context, scope, request, ruling, shown } = query
  await search.catchUp?.(namesOf(request))
  const types = await typesOf(view, scope, request, ruling)
  const base = { ownUrl: context.ownUrl, now: clock.now(), pin: await search.pin() }
  const access: Access = ruling.restrictions.length === 0 ? OPEN : toAccess(ruling, search.criteria, base)
  const asking: Asking = { ...base, allowed: (type) => access.conditions(type, 's') }
  // With nothing stored there is still a right and a wrong way to ask.
  const meant = types.length > 0 ? types : [...catalog.types.keys()].slice(0, 1)
  const understood = await understand(view, query, meant, asking)
  const countOnly = understood.count === 0 || shown.countOnly
  return { ...asks, types, asking, access, understood, countOnly }
}

/** Throws 400. */
export const checkIncludes = ({ view: { search, catalog }, understood: { request } }: Finding): void => {
  for (const include of [...request.includes, ...request.revincludes])
    search.includer.check(include, (type) => catalog.types.has(type))
}

/** Path and parameters as they were understood, which pages are bound to. */
export const addressOf = ({ query: { scope }, understood: { request, shown, count } }: Finding): string =>
  `${scope.path}?${linkParameters(request, shown, count)}`

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
export const startOf = ({ view, query, asking, understood }: Finding, address: string): Start => {
  const { page } = understood.request
  if (page === undefined)
    return { position: { pin: asking.pin, rid: Number.MAX_SAFE_INTEGER, keys: [] }, direction: 'older' }
  const position = openPage(view.search.registry.key, view.clock, query.context.caller, address, page)
  const keys = position.keys.slice(0, understood.keys.length)
  return { position: { ...position, keys }, direction: keys.length < position.keys.length ? 'newer' : 'older' }
}
