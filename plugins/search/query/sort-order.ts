/**
 * `_sort`: values of the matches from the index, the least of several ascending and the greatest descending; matches
 * without a value come last. https://hl7.org/fhir/R4/search.html#sort
 */
import { EARLIEST, LATEST } from '../../model/service.ts'
import type { ParameterColumn } from '../definition/parameter.ts'
import { SORTED_BY } from '../definition/supported.ts'
import { WIDE } from '../definition/wide-ranges.ts'
import { SearchSort } from '../errors.ts'
import { typeOfReference } from '../index/convert/converters.ts'
import { Rows, TEXT_WIDTH } from '../index/index-entries.ts'
import type { Registry } from '../index/registry.ts'
import { type Fragment, isIn, q, raw } from '../sql/fragment.ts'
import type { Criteria } from './criteria.ts'
import { sortTexts } from './sort-keys.ts'
import type { Walk } from './walk.ts'

export interface SortKey {
  readonly name: string
  readonly descending: boolean
  /** The value of resource `d`, never null; undefined when only the resource itself tells it. */
  readonly value?: (d: string) => Fragment
  /** Texts of a resource to sort by, for what the index holds as hashes. */
  readonly texts?: (resource: Record<string, unknown>) => readonly string[]
  /** Where the values of all resources lie in order, when they lie in one place. */
  readonly walk?: Walk
}

const MOST_KEYS = 5

const LAST_TEXT = '\u{10ffff}'

const BIGGEST = Number.MAX_VALUE

/**
 * The rows of resource `d`. The sign keeps SQLite from taking the primary key, which begins with the parameter: it would read
 * the rows of all resources for each of them. PostgreSQL goes by the resource either way.
 */
const rowsOf = (d: string, codes: readonly number[]): Fragment =>
  q`x.rid = ${raw(d)}.rid AND ${isIn('+x.param', codes)}`

/** A number and what its double leaves of it: the latter tells only numbers apart that are one double. */
const fromNumbers = (codes: readonly number[], descending: boolean, column: 'lo' | 'lo_rest') => {
  const direction = raw(descending ? 'DESC' : 'ASC')
  const nothing = column === 'lo' ? (descending ? -BIGGEST : BIGGEST) : ''
  return (d: string): Fragment =>
    q`coalesce((SELECT x.${raw(column)} FROM ix_qty x WHERE ${rowsOf(d, codes)} ORDER BY x.lo ${direction}, x.lo_rest ${direction} LIMIT 1), ${nothing})`
}

const fromIndex =
  (table: string, value: string, codes: readonly number[], descending: boolean, nothing: string | number) =>
  (d: string): Fragment =>
    q`coalesce((SELECT ${raw(descending ? 'max' : 'min')}(${raw(value)}) FROM ${raw(table)} x WHERE ${rowsOf(d, codes)}), ${nothing})`

const dateless = (descending: boolean): number => (descending ? EARLIEST * 2 : LATEST * 2)

const dateWalk = (codes: readonly number[], descending: boolean): Walk => {
  const best = raw(descending ? 'max' : 'min')
  const own = q`x.rid = w.rid AND ${isIn('x.param', codes)}`
  return {
    table: 'ix_date',
    column: 'lo',
    parts: codes.map((code) => q`w.param = ${code}`),
    once: q`w.lo = (SELECT ${best}(x.lo) FROM ix_date x WHERE ${own}) AND w.hi = (SELECT max(x.hi) FROM ix_date x WHERE ${own} AND x.lo = w.lo)`,
    nothing: dateless(descending),
  }
}

/** A reader of the texts of some columns. `patient` is `subject` where that names a Patient. */
const textsOf = (
  registry: Registry,
  type: string,
  columns: readonly ParameterColumn[],
): NonNullable<SortKey['texts']> => {
  const extract = registry.collector(
    type,
    columns.map(({ code }) => code),
    sortTexts,
  )
  const only = new Map(columns.map(({ code, refers }) => [code, refers]))
  return (resource) => {
    const rows = new Rows()
    extract(resource, rows)
    const found: string[] = []
    for (let at = 0; at < rows.text.length; at += TEXT_WIDTH) {
      const key = rows.text[at + 1] as string
      const refers = only.get(rows.text[at] as number)
      if (refers === undefined || typeOfReference(key) === refers) found.push(key)
    }
    return found
  }
}

/** The greatest text comes last ascending, the least last descending. */
export const noText = (descending: boolean): string => (descending ? '' : LAST_TEXT)

/** Keys of `_sort` for one type. Throws 400 for what cannot be sorted by. */
export const toSortKeys = (
  { parameterOf, typeCode, registry }: Criteria,
  type: string,
  text: string,
): readonly SortKey[] => {
  const names = text.split(',').map((one) => one.trim())
  if (names.length > MOST_KEYS) throw SearchSort(text.slice(0, 100), `at most ${MOST_KEYS} keys are allowed`)
  return names.flatMap((given): SortKey | readonly SortKey[] => {
    const descending = given.startsWith('-')
    const name = descending ? given.slice(1) : given
    const key = (value: NonNullable<SortKey['value']>): SortKey => ({ name, descending, value })
    if (name === '') throw SearchSort(text.slice(0, 100), 'a key is empty')
    if (name === '_lastUpdated')
      return {
        ...key((d) => q`(SELECT x.upd FROM resource x WHERE x.rid = ${raw(d)}.rid)`),
        walk: {
          table: 'resource',
          column: 'upd',
          parts: [q`w.type = ${typeCode(type)} AND (w.flags & 1) = 0`],
          once: raw('1 = 1'),
          nothing: -1,
        },
      }
    if (name === '_id') return key((d) => q`(SELECT x.id FROM resource x WHERE x.rid = ${raw(d)}.rid)`)
    const parameter = parameterOf(type, name)
    if (SORTED_BY[parameter.type] === undefined)
      throw SearchSort(name, `a parameter of type ${parameter.type} has no order; sort by its parts`)
    const codes = parameter.columns.map(({ code }) => code)
    const both = [...codes, ...codes.map((code) => code + WIDE)]
    switch (parameter.type) {
      case 'date':
        return {
          ...key(fromIndex('ix_date', 'x.lo', both, descending, dateless(descending))),
          // With one column no two rows of a resource are alike in both ends.
          ...(codes.length === 1 ? { walk: dateWalk(both, descending) } : {}),
        }
      case 'number':
      case 'quantity':
        return [key(fromNumbers(both, descending, 'lo')), key(fromNumbers(both, descending, 'lo_rest'))]
      case 'string':
      case 'uri':
        return key(fromIndex('ix_str', 'coalesce(x.tail, x.val)', codes, descending, descending ? '' : LAST_TEXT))
      default:
        return { name, descending, texts: textsOf(registry, type, parameter.columns) }
    }
  })
}
