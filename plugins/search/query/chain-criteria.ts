/**
 * Chains, which follow references, and `_has`, which follows them backwards.
 * https://hl7.org/fhir/R4/search.html#chaining
 */
import { withArticle } from '../../../kernel/index.ts'
import type { Parameter } from '../definition/parameter.ts'
import { SearchChain, SearchParameterUnknown, SearchTooCostly } from '../errors.ts'
import { type ChainEnd, chainClause, hasClause } from './chain-clause.ts'
import { anyClause, type ClauseText, neverClause, type SearchClause } from './clause.ts'
import { matchesSql } from './clause-sql.ts'
import type { CriteriaParts } from './criteria-parts.ts'
import { type Name, short } from './parameter-name.ts'
import type { JoinTargets } from './reference-join.ts'
import type { SearchContext } from './search-context.ts'

export const MAX_DEPTH = 8 // links of a chain, nested `_has`

/** Makes the clause of one parameter. `depth`: the number of links followed so far. */
export type ToClause = (
  type: string,
  name: string,
  value: string,
  context: SearchContext,
  depth?: number,
) => Promise<SearchClause>

/**
 * Makes a clause that follows a reference parameter to the types `targets`. `make` returns the conditions for
 * resources of each type.
 */
export type FollowReference = (
  parameter: Parameter,
  targets: readonly string[],
  named: ClauseText,
  context: SearchContext,
  depth: number,
  make: (type: string) => Promise<readonly SearchClause[]>,
) => Promise<SearchClause>

export const createChainCriteria = (
  { planner, measure, types, referenceJoins: linksOf, registry }: CriteriaParts,
  parameterOf: (type: string, code: string) => Parameter,
  toCondition: ToClause,
) => {
  const codeOf = (type: string): number => types.code(type) ?? 0

  const endsOf = (type: string): JoinTargets => {
    const column = registry.canonicalColumn(type)
    return { types: [codeOf(type)], canonicals: column === undefined ? [] : [column] }
  }

  /**
   * The conditions on the resource at the other end. Undefined when the caller may not see that type. `refers`: that
   * end refers to the resource that is searched, as in `_has`. Any number may refer to one resource, so a check may
   * cost as much as a search that starts from all matches; their number is therefore counted.
   */
  const otherEnd = async (
    type: string,
    context: SearchContext,
    depth: number,
    make: (type: string) => Promise<readonly SearchClause[]>,
    refers = false,
  ): Promise<ChainEnd | undefined> => {
    if (depth >= MAX_DEPTH) throw SearchTooCostly(`more than ${MAX_DEPTH} links in one parameter`)
    const allowed = await context.allowed(type)
    if (allowed === undefined) return undefined
    const conditions = [...(await make(type)), ...allowed]
    const planned = await planner(codeOf(type), conditions, true)
    const plan = refers ? await measure(planned) : planned
    return {
      conditions: plan.conditions,
      found: plan.drivingClause === undefined || plan.isEstimate ? undefined : matchesSql(plan, context.snapshotKey),
      size: plan.size,
    }
  }

  const follow: FollowReference = async (parameter, targets, named, context, depth, make) => {
    const links: SearchClause[] = []
    let failure: unknown
    let closed: string | undefined
    for (const target of targets) {
      const columns = parameter.columns.filter(({ refers }) => refers === undefined || refers === target)
      if (columns.length === 0 || types.code(target) === undefined) continue
      try {
        const end = await otherEnd(target, context, depth, make)
        if (end === undefined) closed = target
        else links.push(chainClause(named, await linksOf(columns, endsOf(target), context.ownUrl), end))
      } catch (error) {
        // With several target types, those that do not have the parameter are skipped.
        if (targets.length === 1 || (error as { key?: string }).key !== SearchParameterUnknown.key) throw error
        failure = error
      }
    }
    if (links.length > 0) return links.length === 1 ? (links[0] as SearchClause) : anyClause(named, links)
    if (failure !== undefined) throw failure
    // With several target types, those that the caller may see are followed. Where there is none, the search is
    // refused.
    if (closed !== undefined) throw context.forbidden(closed)
    return neverClause(named)
  }

  const chain = async (
    type: string,
    name: string,
    { code, modifier, rest }: Name,
    value: string,
    context: SearchContext,
    depth: number,
  ): Promise<SearchClause> => {
    const parameter = parameterOf(type, code)
    if (parameter.type !== 'reference') throw SearchChain(short(name), `"${code}" is no reference`)
    if (modifier !== undefined && types.code(modifier) === undefined)
      throw SearchChain(short(name), `"${short(modifier)}" is no resource type`)
    const targets = modifier === undefined ? parameter.targets : [modifier]
    if (targets.length === 0) throw SearchChain(short(name), `say which type is meant, as in ${code}:Patient.${rest}`)
    const named = {
      text: `${name}=${value}`,
      description: `reference ${parameter.url}, then ${rest} of ${targets.join(' or ')}`,
    }
    return follow(parameter, targets, named, context, depth, async (target) => [
      await toCondition(target, rest as string, value, context, depth + 1),
    ])
  }

  /** The clause of a name such as `_has:Observation:patient:code`. */
  const reverse = async (
    type: string,
    name: string,
    value: string,
    context: SearchContext,
    depth: number,
  ): Promise<SearchClause> => {
    const [, source = '', by = '', ...rest] = name.split(':')
    if (rest.length === 0 || types.code(source) === undefined)
      throw SearchChain(short(name), 'it is written _has:Type:reference:parameter')
    const parameter = parameterOf(source, by)
    if (parameter.type !== 'reference') throw SearchChain(short(name), `"${by}" is no reference`)
    const named = {
      text: `${name}=${value}`,
      description: `referred to by ${parameter.url} of ${withArticle(source)} with ${rest.join(':')}`,
    }
    const columns = parameter.columns.filter(({ refers }) => refers === undefined || refers === type)
    const found = await otherEnd(
      source,
      context,
      depth,
      async () => [await toCondition(source, rest.join(':'), value, context, depth + 1)],
      true,
    )
    if (found === undefined) throw context.forbidden(source)
    if (columns.length === 0) return neverClause(named)
    return hasClause(named, await linksOf(columns, endsOf(type), context.ownUrl), found)
  }

  return { chain, reverse, follow }
}
