/**
 * Clauses for contained resources: they read the columns of contained resources. Chains follow references from
 * contained resources to whole ones.
 */

import type { Parameter } from '../../definition/parameter.ts'
import { SearchUnsupportedParameter } from '../../errors.ts'
import { CONTAINED_OFFSET } from '../../index/contained/key-space.ts'
import { createChainCriteria } from '../chain-criteria.ts'
import type { SearchClause } from '../clause.ts'
import type { Criteria } from '../criteria.ts'
import type { CriteriaParts } from '../criteria-parts.ts'
import { readName, short } from '../parameter-name.ts'
import type { SearchContext } from '../search-context.ts'
import { createSimpleCriteria } from '../simple-criteria.ts'

const OF_WHOLE_RESOURCES = new Set(['_id', '_lastUpdated', '_list', '_has', '_text', '_content', '_filter'])

export const createContainedCriteria = (parts: CriteriaParts, { parameterOf, toClause }: Criteria) => {
  const { types } = parts
  const apart = (type: string, code: string): Parameter => {
    const parameter = parameterOf(type, code)
    return {
      ...parameter,
      columns: parameter.columns.map((column) => ({ ...column, code: column.code - CONTAINED_OFFSET })),
    }
  }
  const code = (name: string): number | undefined => {
    const given = types.code(name)
    return given === undefined ? undefined : given - CONTAINED_OFFSET
  }
  const own = { ...parts, types: { ...types, code } }
  const simple = createSimpleCriteria(own, apart)
  const linked = createChainCriteria(parts, apart, toClause)
  /** Throws 400 for a parameter that is unknown or does not apply to contained resources. */
  return async (type: string, name: string, value: string, context: SearchContext): Promise<SearchClause> => {
    const read = readName(name)
    if (OF_WHOLE_RESOURCES.has(read.code))
      throw SearchUnsupportedParameter(short(name), 'it cannot be asked of contained resources')
    if (read.rest !== undefined) return linked.chain(type, name, read, value, context, 0)
    return simple.condition(type, name, read, value, context)
  }
}

export type ContainedCriteria = ReturnType<typeof createContainedCriteria>
