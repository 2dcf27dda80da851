/** Makes a live query of a client's text: one resource type and search parameters, as one caller may see them. */
import { createHash } from 'node:crypto'
import type { Clock } from '../../kernel/index.ts'
import type { SessionReads } from '../fhir/service.ts'
import { AskedQuery } from './asked-query.ts'
import type { ChangeHub } from './change-hub.ts'
import { QueryMalformed, QueryTooCostly } from './errors.ts'
import type { PatientsOf } from './judged-change.ts'
import type { LiveQuery, Outlet } from './live-query.ts'
import { MatchedQuery } from './matched-query.ts'
import type { PositionSeal } from './position-seal.ts'

const MAX_LISTED = 1_000 // queries of this server that are tested against every change of their type
const MAX_ASKED = 200 // queries of this server that are asked again

const QUERY = /^([A-Z][A-Za-z]{0,63})(?:\?(.*))?$/s

export interface LiveQueryParts {
  readonly hub: ChangeHub
  readonly seal: PositionSeal
  readonly internal: Pick<SessionReads, 'read' | 'subject'>
  readonly patientsOf: PatientsOf
  readonly clock: Clock
  readonly onError: (query: LiveQuery, error: unknown) => void
}

/** `caller`: text that names who asks. Throws 400, 403. */
export const compileLiveQuery = async (
  parts: LiveQueryParts,
  outlet: Outlet,
  caller: string,
  { id, query }: { readonly id: string; readonly query: string },
): Promise<LiveQuery> => {
  const [, type, text = ''] = QUERY.exec(query) ?? []
  if (type === undefined) throw QueryMalformed(query.slice(0, 64))
  const { hub, seal, internal, patientsOf, clock, onError } = parts
  const session = outlet.session()
  // The matcher comes first: it says which ruling it contains, and a search asks for the ruling each time.
  const ruling = await session.ruling(type)
  const matcher = await session.matches(type, text)
  const restrictions = matcher?.restrictions ?? ruling
  const scope = `${type}?${text}\n${JSON.stringify(restrictions)}`
  const positions = seal.of(createHash('sha256').update(`${caller}\n${scope}`).digest('base64'))
  if (matcher === null) {
    if (hub.costly.asked >= MAX_ASKED) throw QueryTooCostly(MAX_ASKED, 'only a whole search can decide')
    return new AskedQuery({ id, type, text, restrictions, positions, hub, outlet, clock, onError })
  }
  if (matcher.keys === undefined && hub.costly.listed >= MAX_LISTED)
    throw QueryTooCostly(MAX_LISTED, 'are tested against every change of their type')
  return new MatchedQuery({ id, type, text, matcher, scope, positions, hub, outlet, internal, patientsOf })
}
