/**
 * Resolves the parameters of a search for each searched type. Unsupported ones are refused, or with lenient handling
 * ignored.
 */
import { isServerError, type ServerError } from '../../../kernel/index.ts'
import type { TypeCatalog } from '../../model/service.ts'
import {
  SearchChain,
  SearchModifierNeeds,
  SearchModifierUnknown,
  SearchParameterUnknown,
  SearchSort,
  SearchUnsupportedParameter,
} from '../errors.ts'
import type { SearchClause } from './clause.ts'
import type { Criteria } from './criteria.ts'
import type { SearchContext } from './search-context.ts'
import type { SearchRequest } from './search-parameters.ts'
import type { SearchQuery } from './search-query.ts'
import { type SortKey, toSortKeys } from './sort-order.ts'

/** Errors that `Prefer: handling=lenient` ignores. An invalid value is refused in any case. */
const PASSED_OVER = new Set(
  [
    SearchParameterUnknown,
    SearchUnsupportedParameter,
    SearchModifierUnknown,
    SearchModifierNeeds,
    SearchChain,
    SearchSort,
  ].map(({ key }) => key),
)

interface Ignored {
  readonly name: string
  readonly reason: string
}

/** The resolved parameters of a search. */
export interface ResolvedParameters {
  readonly request: SearchRequest
  readonly ignored: readonly Ignored[]
  /** The clauses by type. */
  readonly conditions: ReadonlyMap<string, readonly SearchClause[]>
  readonly keys: readonly SortKey[]
  /** Parameters for the display of matches, which links repeat. */
  readonly shown: readonly (readonly [string, string])[]
  readonly count: number
}

interface ParameterContext {
  readonly search: { readonly criteria: Criteria }
  readonly catalog: Pick<TypeCatalog, 'types'>
  /** The default number of entries on a page, and the most that `_count` may request. */
  readonly page: { readonly default: number; readonly max: number }
}

/** Throws 400 for unsupported parameters, unless `lenient` is set. */
export const resolveParameters = async (
  { search, catalog, page }: ParameterContext,
  { request, lenient, shown }: Pick<SearchQuery, 'request' | 'lenient' | 'shown'>,
  types: readonly string[],
  context: SearchContext,
): Promise<ResolvedParameters> => {
  const { criteria } = search
  const ignored: Ignored[] = []
  const passOver = (name: string, error: ServerError): void => {
    if (!lenient) throw error
    if (!ignored.some((one) => one.name === name)) ignored.push({ name, reason: error.message })
  }
  const tolerate = (name: string, error: unknown): void => {
    if (!isServerError(error) || !PASSED_OVER.has(error.key)) throw error
    passOver(name, error)
  }
  const conditions = new Map<string, SearchClause[]>(types.map((type) => [type, []]))
  const kept: (readonly [string, string])[] = []
  for (const [name, value] of request.criteria) {
    try {
      const made: [string, SearchClause][] = []
      for (const type of types) made.push([type, await criteria.toClause(type, name, value, context)])
      for (const [type, condition] of made) conditions.get(type)?.push(condition)
      kept.push([name, value])
    } catch (error) {
      tolerate(name, error)
    }
  }
  let keys: readonly SortKey[] = []
  let { sort } = request
  if (sort !== undefined)
    try {
      if (types.length !== 1 && sort.split(',').some((one) => !/^-?_(lastUpdated|id)$/.test(one)))
        throw SearchSort(sort.slice(0, 100), 'several types share only _lastUpdated and _id')
      keys = toSortKeys(criteria, types[0] ?? 'Patient', sort)
    } catch (error) {
      tolerate('_sort', error)
      sort = undefined
    }
  // Included resources may be of any type.
  const seen = request.includes.length + request.revincludes.length > 0 ? [...catalog.types.keys()] : types
  const where = types.length === 1 ? (types[0] as string) : 'these types'
  const { default: usual, max } = page
  const wanted = request.count ?? usual
  return {
    request: { ...request, criteria: kept, sort },
    ignored,
    conditions,
    keys,
    shown: shown.settle(seen, where, passOver),
    count: Math.min(wanted, max),
  }
}
