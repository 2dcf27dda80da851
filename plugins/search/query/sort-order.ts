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
import type { Criteria } from './criteria.ts'
import { sortTextsOf } from './sort-keys.ts'
import type { IndexScan } from './walk.ts'

export interface SortKey {
  readonly name: string
  readonly descending: boolean
  /** The value of resource `d`, never null; undefined when only the resource itself tells it. */
  readonly value?: (d: string) => Fragment
  /** Texts of a resource to sort by, for what the index holds as hashes. */
  readonly texts?: (resource: Record<string, unknown>) => readonly string[]
  /** An index in the order of this key, and of as many after it as it tells values of. */
  readonly walk?: IndexScan
}

const MAX_KEYS = 5
const LAST_TEXT = '\u{10ffff}'
/** Beyond all numbers that are stored: what is below any number, such as `<5`, is sorted by the least double. */
const numberless = (descending: boolean): number => (descending ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY)

/**
 * The rows of resource `d`. The sign keeps SQLite from taking the primary key, which begins with the parameter: it would read
 * the rows of all resources for each of them. PostgreSQL goes by the resource either way.
 */
const rowsOf = (d: string, codes: readonly number[]): Fragment =>
  q`x.rid = ${raw(d)}.rid AND ${isIn('+x.param', codes)}`

/** A number and what its double leaves of it: the latter tells only numbers apart that are one double. */
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

/** Index rows of a resource of which one counts. `tie`: what tells its rows apart, what it is sorted by first. */
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
  // A text is longer than what the index begins with only where it has a tail.
  order: ['$.val', 'coalesce($.tail, $.val)'],
  keys: ['coalesce($.tail, $.val)'],
  tie: ['coalesce($.tail, $.val)', '$.exact', '$.param'],
  at: ([text]) => [toPrefixKey(String(text)), String(text)],
}

/** A column of the row of each resource. */
const ownWalk = (column: 'upd' | 'id', nothing: string | number): IndexScan => ({
  table: 'resource',
  order: [`w.${column}`],
  keys: [`w.${column}`],
  at: asGiven,
  parts: (type) => [q`w.type = ${type} AND (w.flags & 1) = 0`],
  once: raw('1 = 1'),
  nothing,
})

/** A reader of the texts of some columns. `patient` is `subject` where that names a Patient. */
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

/** The greatest text comes last ascending, the least last descending. */
export const missingSortText = (descending: boolean): string => (descending ? '' : LAST_TEXT)

/** Keys of `_sort` for one type. Throws 400 for what cannot be sorted by. */
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
      }
    if (name === '_id')
      return { ...key((d) => q`(SELECT x.id FROM resource x WHERE x.rid = ${raw(d)}.rid)`), walk: ownWalk('id', '') }
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
        }
      case 'number':
      case 'quantity':
        return [
          {
            ...key(fromNumbers(both, descending, 'lo')),
            walk: rowWalk(NUMBERS, both, descending, numberless(descending)),
          },
          key(fromNumbers(both, descending, 'lo_rest')),
        ]
      case 'string':
      case 'uri':
        return {
          ...key(fromIndex('ix_str', 'coalesce(x.tail, x.val)', codes, descending, missingSortText(descending))),
          walk: rowWalk(TEXTS, codes, descending, missingSortText(descending)),
        }
      default:
        return { name, descending, texts: textsOf(registry, type, parameter.columns) }
    }
  })
}
