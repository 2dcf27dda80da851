/** A search that was understood: what is asked for, of whom, and where its page begins. */
import { isUtf8 } from 'node:buffer'
import type { Ruling } from '../../../kernel/index.ts'
import { NotUtf8 } from '../errors.ts'
import { checkAccept } from '../media.ts'
import { readPairs, readPrefer } from '../query.ts'
import { type Access, OPEN, toAccess } from '../search/access.ts'
import type { Asking } from '../search/asking.ts'
import { linkParameters } from '../search/link-parameters.ts'
import { openPage, type PagePosition } from '../search/page-token.ts'
import type { SearchPatience } from '../search/patience.ts'
import type { SearchRequest } from '../search/request.ts'
import type { FhirServer } from '../server.ts'
import type { Asked } from './asked.ts'
import { queryOf } from './query-of.ts'
import { type Scope, typesOf } from './search-scope.ts'
import { type Understood, understand } from './understand.ts'

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

/** Parameters of the query, then those of the form. */
export const parametersOf = ({ url, body }: Asked): readonly (readonly [string, string])[] => {
  const query = readPairs(queryOf(url))
  if (!(body instanceof Uint8Array)) return query
  if (!isUtf8(body)) throw NotUtf8()
  return [...query, ...readPairs(Buffer.from(body).toString('utf8'))]
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
  const types = await typesOf(server, scope, request)
  const base = { baseUrl: ctx.baseUrl, now: clock.now(), pin: await search.pin() }
  const access: Access = ruling.restrictions.length === 0 ? OPEN : toAccess(ruling, search.criteria, base)
  const asking: Asking = { ...base, allowed: access.conditions }
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

/** Where the page begins. Throws 400 for one that was given for another search, or to somebody else. */
export const positionOf = ({ server, asked, asking, understood }: Finding, address: string): PagePosition => {
  const { page } = understood.request
  if (page === undefined) return { pin: asking.pin, rid: Number.MAX_SAFE_INTEGER, keys: [] }
  return openPage(server.search.registry.key, server.clock, asked.ctx.caller, address, page)
}
