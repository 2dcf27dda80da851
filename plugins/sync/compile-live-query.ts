/** Makes a live query of a client's text: one resource type and search parameters, as one caller may see them. */
import { createHash } from 'node:crypto'
import { AskedQuery } from './asked-query.ts'
import { QueryMalformed, QueryTooCostly } from './errors.ts'
import { type LiveQuery, type LiveQueryParts, parametersOf } from './live-query.ts'
import { MatchedQuery } from './matched-query.ts'
import { SharedQuery } from './shared-query.ts'

const MAX_LISTED = 1_000 // queries of this server that are tested against every change of their type
const MAX_ASKED = 200 // queries of this server that are asked again

const QUERY = /^([A-Z][A-Za-z]{0,63})(?:\?.*)?$/s

/** 32 characters of one byte each, because there are thousands of them. */
const markOf = (text: string): string => createHash('sha256').update(text).digest('binary')

/** `caller`: text that names who asks. Throws 400, 403. */
export const compileLiveQuery = async (
  parts: LiveQueryParts,
  caller: string,
  { id, query }: { readonly id: string; readonly query: string },
): Promise<LiveQuery> => {
  const [, type] = QUERY.exec(query) ?? []
  if (type === undefined) throw QueryMalformed(query.slice(0, 64))
  const { hub, seal, outlet } = parts
  const session = outlet.session()
  // The matcher comes first: it says which ruling it contains, and a search asks for the ruling each time.
  const ruling = await session.ruling(type)
  const matcher = await session.matches(type, parametersOf(type, query))
  const restrictions = matcher?.restrictions ?? ruling
  const scope = `${type}?${parametersOf(type, query)}\n${JSON.stringify(restrictions)}`
  const positions = seal.of(markOf(`${caller}\n${scope}`))
  if (matcher === null) {
    if (hub.costly.asked >= MAX_ASKED) throw QueryTooCostly(MAX_ASKED, 'only a whole search can decide')
    return new AskedQuery(parts, { id, type, query, restrictions, positions })
  }
  if (matcher.keys === undefined && hub.costly.listed >= MAX_LISTED)
    throw QueryTooCostly(MAX_LISTED, 'are tested against every change of their type')
  return new MatchedQuery(parts, { id, query, positions, shared: new SharedQuery(markOf(scope), matcher) })
}
