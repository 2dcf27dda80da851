/**
 * `_sort`: values of the matches from the index, the least of several ascending and the greatest descending; matches
 * without a value come last. https://hl7.org/fhir/R4/search.html#sort
 */

import { MAX_TIME, MIN_TIME } from '../../model/service.ts'
import type { ParameterColumn } from '../definition/parameter.ts'
import { SORTED_BY } from '../definition/supported.ts'
import { WIDE_OFFSET } from '../definition/wide-ranges.ts'
import { SearchSort } from '../errors.ts'
import { typeOfReference } from '../index/convert/converters.ts'
import { IndexEntries, TEXT_COLUMNS } from '../index/index-entries.ts'
import { toPrefixKey } from '../index/normalize.ts'
import type { Registry } from '../index/registry.ts'
import { type Fragment, isIn, q, raw } from '../sql/fragment.ts'
import type { ClauseSubject } from './clause.ts'
import type { Criteria } from './criteria.ts'
import { sortTextsOf } from './sort-keys.ts'
import { sortValuesOf } from './sort-values.ts'
import type { IndexScan } from './walk.ts'

export interface SortKey {
  readonly name: string
  readonly descending: boolean
  /** SQL for the sort value of resource `d`, never null. Undefined when the value has to be read from the resource. */
  readonly value?: (d: string) => Fragment
  /** Returns the sort texts of a resource, for values that the index holds as hashes. */
  readonly texts?: (resource: Record<string, unknown>) => readonly string[]
  /** An index in the order of this key; it may also give the values of the keys that follow. */
  readonly walk?: IndexScan
  /** The same value of a version in memory. Undefined where `texts` is set. */
  readonly of?: (subject: ClauseSubject) => string | number
}

const MAX_KEYS = 5
const LAST_TEXT = '\u{10ffff}'
/**
 * Stands for a missing number. It lies beyond all stored ones: a value such as `<5` has the lowest double as its
 * lower end.
 */
const numberless = (descending: boolean): number => (descending ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY)

/**
 * Condition for the rows of resource `d`. The plus keeps SQLite from using the primary key, which begins with
 * `param`: for each resource it would read the rows of all others. PostgreSQL uses the resource key either way.
 */
const rowsOf = (d: string, codes: readonly number[]): Fragment =>
  q`x.rid = ${raw(d)}.rid AND ${isIn('+x.param', codes)}`

/** The double of a number, or its rest, which orders numbers with the same double. */
const fromNumbers = (codes: readonly number[], descending: boolean, column: 'lo' | 'lo_rest') => {
  const direction = raw(descending ? 'DESC' : 'ASC')
  const nothing = column === 'lo' ? numberless(descending) : ''
  return (d: string): Fragment =>
    q`coalesce((SELECT x.${raw(column)} FROM ix_qty x WHERE ${rowsOf(d, codes)} ORDER BY x.lo ${direction}, x.lo_rest ${direction} LIMIT 1), ${nothing})`
}

const fromIndex =
  (table: string, value: string, codes: readonly number[], descending: boolean, nothing: string | number) =>
  (d: string): Fragment =>
    q`coalesce((SELECT ${raw(descending ? 'max' : 'min')}(${raw(value)}) FROM ${raw(table)} x WHERE ${rowsOf(d, codes)}), ${nothing})`

const dateless = (descending: boolean): number => (descending ? MIN_TIME * 2 : MAX_TIME * 2)

/**
 * Index rows that a sort can scan; of several rows of a resource one counts. `tie`: columns that order the rows of a
 * resource, the sorted one first.
 */
interface Rowed {
  readonly table: 'ix_date' | 'ix_qty' | 'ix_str'
  readonly order: readonly string[]
  readonly keys: readonly string[]
  readonly tie: readonly string[]
  readonly at?: IndexScan['at']
}

const asGiven: IndexScan['at'] = (keys) => keys

const rowWalk = (
  { table, order, keys, tie, at = asGiven }: Rowed,
  codes: readonly number[],
  descending: boolean,
  nothing: string | number,
): IndexScan => {
  const from = (columns: readonly string[], w: string): string =>
    columns.map((one) => one.replaceAll('$', w)).join(', ')
  const best = raw(`(${from(tie, 'x')}) ${descending ? '>' : '<'} (${from(tie, 'w')})`)
  const ofCodes = isIn('+x.param', codes)
  return {
    table,
    order: order.map((one) => one.replaceAll('$', 'w')),
    keys: keys.map((one) => one.replaceAll('$', 'w')),
    at,
    parts: () => codes.map((code) => q`w.param = ${code}`),
    once: q`(SELECT 1 FROM ${raw(table)} x WHERE x.rid = w.rid AND ${ofCodes} AND ${best} LIMIT 1) IS NULL`,
    lacks: (d) => q`(SELECT 1 FROM ${raw(table)} x WHERE x.rid = ${raw(d)}.rid AND ${ofCodes} LIMIT 1) IS NULL`,
    nothing,
  }
}

const DATES: Rowed = { table: 'ix_date', order: ['$.lo'], keys: ['$.lo'], tie: ['$.lo', '$.hi', '$.param'] }
const NUMBERS: Rowed = {
  table: 'ix_qty',
  order: ['$.lo', '$.lo_rest'],
  keys: ['$.lo', '$.lo_rest'],
  tie: ['lo', 'lo_rest', 'hi', 'hi_rest', 'code', 'sys', 'unit', 'param'].map((one) => `$.${one}`),
}
const TEXTS: Rowed = {
  table: 'ix_str',
  // Only a text longer than the key has a tail, so the key alone orders most texts.
  order: ['$.val', 'coalesce($.tail, $.val)'],
  keys: ['coalesce($.tail, $.val)'],
  tie: ['coalesce($.tail, $.val)', '$.exact', '$.param'],
  at: ([text]) => [toPrefixKey(String(text)), String(text)],
}

/** A scan of a column in the table of resources. */
const ownWalk = (column: 'upd' | 'id', nothing: string | number): IndexScan => ({
  table: 'resource',
  order: [`w.${column}`],
  keys: [`w.${column}`],
  at: asGiven,
  parts: (type) => [q`w.type = ${type} AND (w.flags & 1) = 0`],
  once: raw('1 = 1'),
  nothing,
})

/**
 * Returns a function that reads the sort texts of some columns. It drops references to types other than `refers`, as
 * `patient` needs.
 */
const textsOf = (
  registry: Registry,
  type: string,
  columns: readonly ParameterColumn[],
): NonNullable<SortKey['texts']> => {
  const extract = registry.collector(
    type,
    columns.map(({ code }) => code),
    sortTextsOf,
  )
  const only = new Map(columns.map(({ code, refers }) => [code, refers]))
  return (resource) => {
    const rows = new IndexEntries()
    extract(resource, rows)
    const found: string[] = []
    for (let at = 0; at < rows.text.length; at += TEXT_COLUMNS) {
      const key = rows.text[at + 1] as string
      const refers = only.get(rows.text[at] as number)
      if (refers === undefined || typeOfReference(key) === refers) found.push(key)
    }
    return found
  }
}

/** Sorts last in either direction: the greatest text ascending, the least one descending. */
export const missingSortText = (descending: boolean): string => (descending ? '' : LAST_TEXT)

/** Of several texts the least for an ascending sort, the greatest for a descending one. */
export const bestSortText = (texts: readonly string[], descending: boolean): string => {
  let best: string | undefined
  for (const text of texts) if (best === undefined || (descending ? text > best : text < best)) best = text
  return best ?? missingSortText(descending)
}

/** Keys of `_sort` for one type. Throws 400 for a parameter that cannot be sorted by. */
export const toSortKeys = ({ parameterOf, registry }: Criteria, type: string, text: string): readonly SortKey[] => {
  const names = text.split(',').map((one) => one.trim())
  if (names.length > MAX_KEYS) throw SearchSort(text.slice(0, 100), `at most ${MAX_KEYS} keys are allowed`)
  return names.flatMap((given): SortKey | readonly SortKey[] => {
    const descending = given.startsWith('-')
    const name = descending ? given.slice(1) : given
    const key = (value: NonNullable<SortKey['value']>): SortKey => ({ name, descending, value })
    if (name === '') throw SearchSort(text.slice(0, 100), 'a key is empty')
    if (name === '_lastUpdated')
      return {
        ...key((d) => q`(SELECT x.upd FROM resource x WHERE x.rid = ${raw(d)}.rid)`),
        walk: ownWalk('upd', -1),
        of: ({ versionTime }) => versionTime,
      }
    if (name === '_id')
      return {
        ...key((d) => q`(SELECT x.id FROM resource x WHERE x.rid = ${raw(d)}.rid)`),
        walk: ownWalk('id', ''),
        of: ({ id }) => id,
      }
    const parameter = parameterOf(type, name)
    if (SORTED_BY[parameter.type] === undefined)
      throw SearchSort(name, `a parameter of type ${parameter.type} has no order; sort by its parts`)
    const codes = parameter.columns.map(({ code }) => code)
    const both = [...codes, ...codes.map((code) => code + WIDE_OFFSET)]
    switch (parameter.type) {
      case 'date':
        return {
          ...key(fromIndex('ix_date', 'x.lo', both, descending, dateless(descending))),
          walk: rowWalk(DATES, both, descending, dateless(descending)),
          of: sortValuesOf.date(both, descending, dateless(descending)),
        }
      case 'number':
      case 'quantity':
        return [
          {
            ...key(fromNumbers(both, descending, 'lo')),
            walk: rowWalk(NUMBERS, both, descending, numberless(descending)),
            of: sortValuesOf.low(both, descending, numberless(descending)),
          },
          { ...key(fromNumbers(both, descending, 'lo_rest')), of: sortValuesOf.lowRest(both, descending) },
        ]
      case 'string':
      case 'uri':
        return {
          ...key(fromIndex('ix_str', 'coalesce(x.tail, x.val)', codes, descending, missingSortText(descending))),
          walk: rowWalk(TEXTS, codes, descending, missingSortText(descending)),
          of: sortValuesOf.text(codes, descending, missingSortText(descending)),
        }
      default:
        return { name, descending, texts: textsOf(registry, type, parameter.columns) }
    }
  })
}
