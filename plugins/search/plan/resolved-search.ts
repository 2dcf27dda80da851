/** A search that was understood: what is asked for, of whom, and where its page begins. */
import { isUtf8 } from 'node:buffer'
import type { Ruling } from '../../../kernel/index.ts'
import { checkAccept } from '../../fhir/http/media.ts'
import { queryOf } from '../../fhir/interactions/query-of.ts'
import type { Asked } from '../../fhir/interactions/request.ts'
import type { FhirServer } from '../../fhir/parts.ts'
import { readPairs, readPrefer } from '../../fhir/presentation/presentation-parameters.ts'
import { NotUtf8 } from '../../model/errors.ts'
import { type Access, OPEN, toAccess } from '../access/access-filter.ts'
import { openPage, type PagePosition } from '../query/page-token.ts'
import { type Scope, typesOf } from '../query/scope.ts'
import type { Asking } from '../query/search-context.ts'
import type { SearchRequest } from '../query/search-parameters.ts'
import { linkParameters } from '../query/self-link.ts'
import { type Understood, understand } from '../query/understand.ts'
import type { SearchPatience } from './deadline.ts'
import type { Direction } from './plan.ts'

export type Tracer = ReturnType<FhirServer['search']['tracer']>

/** A search that was understood. */
export interface Finding {
  readonly server: FhirServer
  readonly asked: Asked
  readonly scope: Scope
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

/** Parameters of the query, then those of the form. Empty ones are no error and are ignored: fields of a form, say. */
export const parametersOf = ({ url, body }: Asked): readonly (readonly [string, string])[] => {
  if (body instanceof Uint8Array && !isUtf8(body)) throw NotUtf8()
  const form = body instanceof Uint8Array ? readPairs(Buffer.from(body).toString('utf8')) : []
  // A page link that lost its end is none: without it the search would begin again.
  return [...readPairs(queryOf(url)), ...form].filter(([name, value]) => value !== '' || name === '_page')
}

/** Whatever in a search may name a parameter. */
const namesOf = ({ criteria, includes, revincludes, sort = '' }: SearchRequest): readonly string[] => [
  // A filter names its parameters in its value.
  ...criteria.flatMap(([name, value]) => (name.endsWith('_filter') ? [name, value] : [name])),
  ...[...includes, ...revincludes].map(({ text }) => text.slice(text.indexOf('=') + 1)),
  sort,
]

/** Throws 400 for what is not understood. */
export const toFinding = async (
  asks: Pick<Finding, 'server' | 'asked' | 'scope' | 'patience' | 'tracer'>,
  ruling: Ruling,
  request: SearchRequest,
): Promise<Finding> => {
  const { server, asked, scope } = asks
  const { search, catalog, clock } = server
  const { ctx, headers } = asked
  const prefer = readPrefer(headers.prefer)
  checkAccept(headers.accept, request.presentation.format)
  await search.catchUp?.(namesOf(request))
  const types = await typesOf(server, scope, request, ruling)
  const base = { ownUrl: ctx.ownUrl, now: clock.now(), pin: await search.pin() }
  const access: Access = ruling.restrictions.length === 0 ? OPEN : toAccess(ruling, search.criteria, base)
  const asking: Asking = { ...base, allowed: (type) => access.conditions(type, 's') }
  // With nothing stored there is still a right and a wrong way to ask.
  const meant = types.length > 0 ? types : [...catalog.types.keys()].slice(0, 1)
  const understood = await understand(server, request, meant, asking, prefer.lenient)
  const countOnly = understood.count === 0 || request.presentation.summary === 'count'
  return { ...asks, types, asking, access, understood, countOnly }
}

/** Throws 400. */
export const checkIncludes = ({ server: { search, catalog }, understood: { request } }: Finding): void => {
  for (const include of [...request.includes, ...request.revincludes])
    search.includer.check(include, (type) => catalog.types.has(type))
}

/** Path and parameters as they were understood, which pages are bound to. */
export const addressOf = ({ scope, understood }: Finding): string =>
  `${scope.path}?${linkParameters(understood.request, understood.count)}`

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
export const startOf = ({ server, asked, asking, understood }: Finding, address: string): Start => {
  const { page } = understood.request
  if (page === undefined)
    return { position: { pin: asking.pin, rid: Number.MAX_SAFE_INTEGER, keys: [] }, direction: 'older' }
  const position = openPage(server.search.registry.key, server.clock, asked.ctx.caller, address, page)
  const keys = position.keys.slice(0, understood.keys.length)
  return { position: { ...position, keys }, direction: keys.length < position.keys.length ? 'newer' : 'older' }
}
