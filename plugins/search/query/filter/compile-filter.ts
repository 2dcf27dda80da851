/** Turns a `_filter` into the same kind of clauses as search parameters. https://hl7.org/fhir/R4/search_filter.html */

import type { Parameter } from '../../definition/parameter.ts'
import { PREFIXED } from '../../definition/supported.ts'
import { WIDE_OFFSET } from '../../definition/wide-ranges.ts'
import { SearchChain, SearchFilterOperator, SearchValue } from '../../errors.ts'
import { and, isIn, or, q, raw } from '../../sql/fragment.ts'
import type { FollowReference } from '../chain-criteria.ts'
import { allClause, anyClause, type ClauseText, lookupClause, notClause, type SearchClause } from '../clause.ts'
import type { IndexLookup } from '../index-lookup.ts'
import { readDateValue } from '../lookups/ordered.ts'
import { short } from '../parameter-name.ts'
import type { SearchContext } from '../search-context.ts'
import type { SimpleCriteria } from '../simple-criteria.ts'
import { codesOf } from '../value-context.ts'
import { type FilterExpression, type FilterStep, type Operator, parseFilter } from './parse-filter.ts'
import { STRING_OPERATORS, type StringOperator, stringTest } from './string-tests.ts'

/** Operators by type of parameter; `pr` applies to every type. */
export const FILTER_OPERATORS: Readonly<Record<string, readonly Operator[]>> = {
  string: ['eq', 'ne', 'co', 'sw', 'ew', 'gt', 'lt', 'ge', 'le'],
  uri: ['eq', 'ne', 'co', 'sw', 'ew', 'gt', 'lt', 'ge', 'le'],
  token: ['eq', 'ne', 'in', 'ni', 'ss', 'sb'],
  reference: ['eq', 'ne', 're'],
  number: ['eq', 'ne', 'gt', 'lt', 'ge', 'le', 'ap', 'sa', 'eb'],
  date: ['eq', 'ne', 'gt', 'lt', 'ge', 'le', 'ap', 'sa', 'eb', 'po'],
  quantity: ['eq', 'ne', 'gt', 'lt', 'ge', 'le', 'ap', 'sa', 'eb'],
  composite: ['eq'],
  special: ['eq'],
}
/** Operators that work as a modifier of a parameter does. */
const MODIFIER_OF: Partial<Record<Operator, string>> = { in: 'in', ni: 'not-in', ss: 'below', sb: 'above' }

type Test = Extract<FilterExpression, { kind: 'test' }>

/** Escapes commas, because a value of a filter is always a single value. */
const asOne = (value: string): string => value.replace(/\\.|,/gs, (part) => (part === ',' ? '\\,' : part))

/** Matches resources that have a value for which none of the lookups matches. */
const unequal = (named: ClauseText, codes: readonly number[], lookups: readonly IndexLookup[]): SearchClause => {
  const table = raw((lookups[0] as IndexLookup).table)
  const keysSql = q`SELECT x.rid AS rid FROM ${table} x WHERE ${isIn('x.param', codes)} AND NOT (${or(lookups.map(({ where }) => where))})`
  return { ...named, checkSql: (d) => q`${raw(d)}.rid IN (${keysSql})`, sources: [{ keysSql, isOrdered: false }] }
}

const overlap = (name: string, codes: readonly number[], value: string): IndexLookup => {
  const { prefix, range } = readDateValue(name, value)
  if (prefix !== 'eq') throw SearchValue(name, 'a date without a prefix')
  const { lo, hi } = range
  const both = [...codes, ...codes.map((code) => code + WIDE_OFFSET)]
  return {
    table: 'ix_date',
    where: and([isIn('x.param', both), q`x.lo < ${hi} AND x.hi > ${lo}`]),
    isOrdered: false,
    probeable: true,
    matches: ({ date }) => {
      for (let at = 0; at < date.length; at += 3)
        if (both.includes(date[at] as number) && (date[at + 1] as number) < hi && (date[at + 2] as number) > lo)
          return true
      return false
    },
  }
}

export interface FilterParts {
  readonly parameterOf: (type: string, code: string) => Parameter
  readonly simple: SimpleCriteria
  /** Makes the clause of `_id` or `_lastUpdated`. */
  readonly general: (type: string, code: string, value: string, context: SearchContext) => Promise<SearchClause>
  readonly follow: FollowReference
}

export const createFilterCriteria = ({ parameterOf, simple, general, follow }: FilterParts) => {
  const refuse = (test: Test, type: string): never => {
    const known = [...(FILTER_OPERATORS[type] ?? []), 'pr'].join(', ')
    throw SearchFilterOperator(test.operator, type, short(test.text), known)
  }

  /** The test of a parameter that has no column. */
  const ofWhole = async (
    type: string,
    code: string,
    test: Test,
    named: ClauseText,
    context: SearchContext,
  ): Promise<SearchClause> => {
    const { operator, value } = test
    if (code === '_lastUpdated') {
      if (!FILTER_OPERATORS.number?.includes(operator)) refuse(test, 'number')
      return general(type, code, `${operator}${asOne(value)}`, context)
    }
    if (operator !== 'eq' && operator !== 'ne') throw SearchFilterOperator(operator, 'id', short(test.text), 'eq, ne')
    const same = await general(type, code, asOne(value), context)
    return operator === 'eq' ? same : notClause(named, same)
  }

  const ofParameter = async (type: string, code: string, test: Test, named: ClauseText, asking: SearchContext) => {
    const { operator, value } = test
    if (code === '_id' || code === '_lastUpdated') return ofWhole(type, code, test, named, asking)
    const parameter = parameterOf(type, code)
    const ask = (modifier: string | undefined, text: string): Promise<SearchClause> =>
      simple.condition(type, short(test.text), { code, modifier, rest: undefined }, text, asking)
    if (operator === 'pr') {
      if (value !== 'true' && value !== 'false') throw SearchValue(short(test.text), 'true or false')
      return ask('missing', value === 'true' ? 'false' : 'true')
    }
    if (FILTER_OPERATORS[parameter.type]?.includes(operator) !== true) refuse(test, parameter.type)
    const context = simple.context(test.text, parameter, asking)
    const codes = codesOf(parameter.columns)
    if (parameter.type === 'string' || parameter.type === 'uri') {
      const folds = parameter.type === 'string'
      if (operator === 'ne') return unequal(named, codes, [stringTest(context, 'eq', value, folds)])
      if ((STRING_OPERATORS as readonly string[]).includes(operator))
        return lookupClause(named, [stringTest(context, operator as StringOperator, value, folds)])
    }
    if (operator === 'po') return lookupClause(named, [overlap(short(test.text), codes, value)])
    if (PREFIXED.includes(parameter.type)) return ask(undefined, `${operator}${asOne(value)}`)
    if (operator === 'ne') return unequal(named, codes, await simple.lookups(parameter, context, undefined, [value]))
    return ask(MODIFIER_OF[operator], asOne(value))
  }

  const compileTest = async (
    type: string,
    [step, ...rest]: readonly FilterStep[],
    test: Test,
    context: SearchContext,
    depth: number,
  ): Promise<SearchClause> => {
    const { name, filter } = step as FilterStep
    const named = { text: test.text, description: `filter on ${type}: ${test.text}` }
    if (rest.length === 0) return ofParameter(type, name, test, named, context)
    const parameter = parameterOf(type, name)
    if (parameter.type !== 'reference') throw SearchChain(short(test.text), `"${name}" is no reference`)
    return follow(parameter, parameter.targets, named, context, depth, async (target) => [
      ...(filter === undefined ? [] : [await compile(target, filter, context, depth + 1)]),
      await compileTest(target, rest, test, context, depth + 1),
    ])
  }

  const compile = async (
    type: string,
    filter: FilterExpression,
    context: SearchContext,
    depth: number,
  ): Promise<SearchClause> => {
    if (filter.kind === 'test') return compileTest(type, filter.path, filter, context, depth)
    const named = { text: '_filter', description: `${filter.kind} of a filter` }
    if (filter.kind === 'not') return notClause(named, await compile(type, filter.of, context, depth))
    const both = [await compile(type, filter.left, context, depth), await compile(type, filter.right, context, depth)]
    return filter.kind === 'and' ? allClause(named, both) : anyClause(named, both)
  }

  /** Throws 400 for a filter that cannot be parsed or that the server does not support. */
  return (type: string, text: string, context: SearchContext, depth: number): Promise<SearchClause> =>
    compile(type, parseFilter(text), context, depth)
}
