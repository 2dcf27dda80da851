/** Parses the query of a session's read, and turns criteria into a search within a ruling. */
import type { RequestContext, Ruling } from '../../../kernel/index.ts'
import { type TypeCatalog, typeOf } from '../../model/service.ts'
import { type ConditionalSearch, readSearch, type SearchRequest, type Shown } from '../../search/service.ts'
import { readPairs } from '../presentation/presentation-parameters.ts'
import type { View } from '../view.ts'
import { SessionParameter } from './errors.ts'

export type Pairs = readonly (readonly [string, string])[]

/**
 * The search criteria of a stream or a matcher. Throws 400 for a parameter that is no criterion. A parameter without a
 * value is refused, too, because ignoring it would select more.
 */
export const readSelecting = (query: string): Pairs => {
  const given = readPairs(query)
  const { criteria } = readSearch(given, true)
  const steering = given.find(([name]) => !criteria.some(([one]) => one === name))
  if (steering !== undefined) throw SessionParameter(steering[0].slice(0, 64))
  return criteria
}

/** Shows matches as they are stored, or only their number. */
const shownAs = (countOnly: boolean): Shown => ({
  countOnly,
  settle: () => (countOnly ? [['_summary', 'count']] : []),
})

/**
 * Reads the query of one page; `after` is the token of the page before. Throws 400 for a parameter that chooses the
 * form of resources.
 */
export const readPaged = (
  query: string,
  after: string | undefined,
): { readonly asked: SearchRequest; readonly shown: Shown } => {
  const given = readPairs(query).filter(([, value]) => value !== '')
  const asked = readSearch(after === undefined ? given : [...given, ['_page', after]], false)
  const countOnly = asked.handedOn.get('_summary') === 'count'
  const other = [...asked.handedOn.keys()].find((name) => !(countOnly && name === '_summary'))
  if (other !== undefined) throw SessionParameter(other)
  return { asked, shown: shownAs(countOnly) }
}

/** Throws 400, and 403 for a type that the caller may not search. */
export const matchingOf = (
  catalog: Pick<TypeCatalog, 'types'>,
  { search }: View,
  request: RequestContext,
  ruling: Ruling,
  type: string,
  pairs: Pairs,
): Promise<ConditionalSearch> => search.matches(request, ruling, typeOf({ catalog }, type).name, pairs)
