/** The query of a stream or matcher: parameters that select, and what they stand for within a ruling. */
import type { RequestContext, Ruling } from '../../../kernel/index.ts'
import { type TypeCatalog, typeOf } from '../../model/service.ts'
import { type ConditionalSearch, readSearch, type SearchRequest, type Shown } from '../../search/service.ts'
import { readPairs } from '../presentation/presentation-parameters.ts'
import type { View } from '../view.ts'
import { SessionParameter } from './errors.ts'

export type Pairs = readonly (readonly [string, string])[]

/** Throws 400 for what steers a result; an empty value is one that cannot be meant. */
export const readSelecting = (query: string): Pairs => {
  const given = readPairs(query)
  const { criteria } = readSearch(given, true)
  const steering = given.find(([name]) => !criteria.some(([one]) => one === name))
  if (steering !== undefined) throw SessionParameter(steering[0].slice(0, 64))
  return criteria
}

/** How a session shows matches: as they are stored, or only their number. */
const shownAs = (countOnly: boolean): Shown => ({
  countOnly,
  settle: () => (countOnly ? [['_summary', 'count']] : []),
})

/** The query of one page, `after` the token of another. Throws 400 for what says how resources are written. */
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

/** Throws 400, and 403 for a type that may not be searched. */
export const matchingOf = (
  catalog: Pick<TypeCatalog, 'types'>,
  { search }: View,
  request: RequestContext,
  ruling: Ruling,
  type: string,
  pairs: Pairs,
): Promise<ConditionalSearch> => search.matches(request, ruling, typeOf({ catalog }, type).name, pairs)
