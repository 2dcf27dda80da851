/** Plans a search in contained resources, with the conditions on their containers. */
import type { TypeCodes } from '../../../storage/service.ts'
import type { AccessFilter } from '../../access/access-filter.ts'
import { SearchSort, SearchUnsupportedParameter } from '../../errors.ts'
import { CONTAINED_OFFSET } from '../../index/contained/key-space.ts'
import type { SearchClause } from '../../query/clause.ts'
import type { Plan } from '../../query/plan-contract.ts'
import type { SearchContext } from '../../query/search-context.ts'
import type { SearchRequest } from '../../query/search-parameters.ts'
import type { PlannedSearch } from '../planned-search.ts'
import type { ContainedSearch } from './contained-page.ts'

/**
 * `whole`: the plan for resources of the type itself. Throws 400 where contained resources cannot be searched: over
 * several types, in a compartment, or sorted.
 */
export const askContained = async (
  { containedCriteria, planner, usedTypes }: PlannedSearch,
  types: TypeCodes,
  type: string | undefined,
  request: SearchRequest,
  context: SearchContext,
  access: AccessFilter,
  whole: Plan | undefined,
): Promise<ContainedSearch> => {
  if (type === undefined)
    throw SearchUnsupportedParameter(
      '_contained',
      'contained resources are searched by one type, and in no compartment',
    )
  if (request.sort !== undefined) throw SearchSort(request.sort.slice(0, 100), 'contained resources come newest first')
  const conditions: SearchClause[] = []
  for (const [name, value] of request.criteria) conditions.push(await containedCriteria(type, name, value, context))
  const inside = await planner((types.code(type) ?? 0) - CONTAINED_OFFSET, conditions)
  const seen: { type: number; conditions: readonly SearchClause[] }[] = []
  if (!access.isUnrestricted)
    for (const holder of await usedTypes()) {
      const met = await access.conditions(holder, 's')
      if (met !== undefined) seen.push({ type: types.code(holder) ?? 0, conditions: met })
    }
  return {
    inside,
    whole: request.contained === 'both' ? whole : undefined,
    asContainers: request.containedType === 'container',
    seen: access.isUnrestricted ? undefined : seen,
  }
}
