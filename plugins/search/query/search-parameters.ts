/** Splits the parameters of a search, from the query and the form, into result parameters and criteria. */

import { QueryParameterValue, SearchTooCostly, SearchTypeMisplaced } from '../errors.ts'

export const MAX_PARAMETERS = 200
/** Most chains and `_has` in one search. */
export const MAX_LINKED = 10

export interface Include {
  readonly text: string
  /** `*` stands for every type and every parameter. */
  readonly source: string
  readonly parameter: string
  readonly target: string | undefined
  readonly iterate: boolean
}

export type Contained = 'false' | 'true' | 'both'
export type Total = 'none' | 'estimate' | 'accurate'

export interface SearchRequest {
  readonly criteria: readonly (readonly [string, string])[]
  readonly includes: readonly Include[]
  readonly revincludes: readonly Include[]
  readonly sort: string | undefined
  /** Undefined: the server's default. */
  readonly count: number | undefined
  /** Undefined: a total where it costs nothing. */
  readonly total: Total | undefined
  readonly types: readonly string[] | undefined
  /** `true` searches only contained resources, `both` searches them as well. */
  readonly contained: Contained
  readonly containedType: 'container' | 'contained'
  readonly page: string | undefined
  readonly explain: boolean
  /** Parameters for the display of matches, not parsed here. */
  readonly handedOn: ReadonlyMap<string, string>
}

const CONTAINED = new Set(['true', 'false', 'both'])
const CONTAINED_TYPES = new Set(['container', 'contained'])
const TOTALS = new Set(['none', 'estimate', 'accurate'])
const HANDED_ON: ReadonlySet<string> = new Set(['_summary', '_elements', '_format', '_pretty'])
/** Result parameters that this server supports, for `/metadata` and error messages. */
export const RESULT_PARAMETERS = [
  '_count',
  '_sort',
  '_total',
  '_include',
  '_revinclude',
  '_summary',
  '_elements',
  '_type',
  '_contained',
  '_containedType',
  '_format',
  '_pretty',
  '_explain',
] as const

const readInclude = (name: string, value: string): Include => {
  const [head = '', modifier] = name.split(':')
  if (modifier !== undefined && modifier !== 'iterate' && modifier !== 'recurse')
    throw QueryParameterValue(head, 'the modifier :iterate or none')
  const iterate = modifier !== undefined
  const [source = '', parameter = '*', target, ...rest] = value.split(':')
  if (source === '*' && value === '*')
    return { text: `${name}=${value}`, source, parameter: '*', target: undefined, iterate }
  if (rest.length > 0 || source === '' || parameter === '' || !value.includes(':'))
    throw QueryParameterValue(head, 'Type:parameter, Type:parameter:TargetType, Type:* or *')
  return { text: `${name}=${value}`, source, parameter, target, iterate }
}

/** One that is given twice is followed once. */
const addInclude = (includes: Include[], include: Include): void => {
  if (includes.every(({ text }) => text !== include.text)) includes.push(include)
}

const readFlag = (name: string, value: string | undefined): boolean => {
  if (value === undefined || value === 'false') return false
  if (value === 'true') return true
  throw QueryParameterValue(name, 'true or false')
}

/** Splits the parameters. `isSystem`: true for a search over several types, which may have `_type`. */
export const readSearch = (parameters: readonly (readonly [string, string])[], isSystem: boolean): SearchRequest => {
  if (parameters.length > MAX_PARAMETERS)
    throw SearchTooCostly(`${parameters.length} parameters, at most ${MAX_PARAMETERS} are allowed`)
  const once = new Map<string, string>()
  const criteria: (readonly [string, string])[] = []
  const includes: Include[] = []
  const revincludes: Include[] = []
  let linked = 0
  for (const [name, value] of parameters) {
    if (name.includes('\0') || value.includes('\0')) throw QueryParameterValue('in the query', 'no NUL character')
    const head = name.split(':')[0] as string
    if (head === '_include') addInclude(includes, readInclude(name, value))
    else if (head === '_revinclude') addInclude(revincludes, readInclude(name, value))
    else if ((RESULT_PARAMETERS as readonly string[]).includes(name) || name === '_page') {
      if (name === '_type' && !isSystem) throw SearchTypeMisplaced()
      if (once.has(name)) throw QueryParameterValue(name, 'one value; it is given twice')
      once.set(name, value)
    } else {
      if (name.startsWith('_has') || name.includes('.')) linked += 1
      criteria.push([name, value])
    }
  }
  if (linked > MAX_LINKED) throw SearchTooCostly(`${linked} chained parameters, at most ${MAX_LINKED} are allowed`)
  const count = once.get('_count')
  if (count !== undefined && !/^\d{1,9}$/.test(count)) throw QueryParameterValue('_count', 'a whole number, 0 or more')
  const total = once.get('_total')
  if (total !== undefined && !TOTALS.has(total)) throw QueryParameterValue('_total', 'none, estimate or accurate')
  const types = once.get('_type')?.split(',')
  const contained = once.get('_contained') ?? 'false'
  if (!CONTAINED.has(contained)) throw QueryParameterValue('_contained', 'true, false or both')
  const containedType = once.get('_containedType') ?? 'container'
  if (!CONTAINED_TYPES.has(containedType)) throw QueryParameterValue('_containedType', 'container or contained')
  return {
    criteria,
    includes,
    revincludes,
    sort: once.get('_sort'),
    count: count === undefined ? undefined : Number(count),
    total: total as Total | undefined,
    types,
    contained: contained as Contained,
    containedType: containedType as SearchRequest['containedType'],
    page: once.get('_page'),
    explain: readFlag('_explain', once.get('_explain')),
    handedOn: new Map([...once].filter(([name]) => HANDED_ON.has(name))),
  }
}
