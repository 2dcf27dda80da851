/**
 * `_sort`: values of the matches from the index, the least of several ascending and the greatest descending; matches
 * without a value come last. https://hl7.org/fhir/R4/search.html#sort
 */
import type { Criteria } from './criteria.ts'
import { SearchSort } from './errors.ts'
import { and, type Fragment, isIn, join, or, q, raw } from './fragment.ts'
import { EARLIEST, LATEST } from './moment.ts'
import { WIDE } from './wide.ts'

export interface SortKey {
  readonly name: string
  readonly descending: boolean
  /** The value of resource `d`, never null. */
  readonly value: (d: string) => Fragment
}

const MOST_KEYS = 5
const LAST_TEXT = '\u{10ffff}'
const BIGGEST = Number.MAX_VALUE

const fromIndex =
  (table: string, column: string, codes: readonly number[], descending: boolean, nothing: string | number) =>
  (d: string): Fragment =>
    q`coalesce((SELECT ${raw(descending ? 'max' : 'min')}(x.${raw(column)}) FROM ${raw(table)} x WHERE x.rid = ${raw(d)}.rid AND ${isIn('x.param', codes)}), ${nothing})`

/** Keys of `_sort` for one type. Throws 400 for what cannot be sorted by. */
export const toSortKeys = (criteria: Criteria, type: string, text: string): readonly SortKey[] => {
  const names = text.split(',').map((one) => one.trim())
  if (names.length > MOST_KEYS) throw SearchSort(text.slice(0, 100), `at most ${MOST_KEYS} keys are allowed`)
  return names.map((given): SortKey => {
    const descending = given.startsWith('-')
    const name = descending ? given.slice(1) : given
    const key = (value: SortKey['value']): SortKey => ({ name, descending, value })
    if (name === '') throw SearchSort(text.slice(0, 100), 'a key is empty')
    if (name === '_lastUpdated') return key((d) => q`(SELECT x.upd FROM resource x WHERE x.rid = ${raw(d)}.rid)`)
    if (name === '_id') return key((d) => q`(SELECT x.id FROM resource x WHERE x.rid = ${raw(d)}.rid)`)
    const parameter = criteria.parameterOf(type, name)
    const codes = parameter.columns.map(({ code }) => code)
    const both = [...codes, ...codes.map((code) => code + WIDE)]
    switch (parameter.type) {
      case 'date':
        return key(fromIndex('ix_date', 'lo', both, descending, descending ? EARLIEST * 2 : LATEST * 2))
      case 'number':
      case 'quantity':
        return key(fromIndex('ix_qty', 'lo', both, descending, descending ? -BIGGEST : BIGGEST))
      case 'string':
      case 'uri':
        return key(fromIndex('ix_str', 'val', codes, descending, descending ? '' : LAST_TEXT))
      default:
        // Codes and references lie in the index as hashes, which have no order anybody would ask for.
        throw SearchSort(
          name,
          `parameters of type ${parameter.type} have no order here; date, number, quantity, string, uri, _id and _lastUpdated have`,
        )
    }
  })
}

/** Behind the last match of the page before. */
export const behind = (keys: readonly SortKey[], values: readonly (string | number)[], rid: number): Fragment => {
  const columns = keys.map((_key, at) => raw(`k.s${at}`))
  const cases = keys.map((key, at) =>
    and([
      ...columns.slice(0, at).map((column, before) => q`${column} = ${values[before] as string}`),
      key.descending
        ? q`${columns[at] as Fragment} < ${values[at] as string}`
        : q`${columns[at] as Fragment} > ${values[at] as string}`,
    ]),
  )
  return or(
    [...cases, and([...columns.map((column, at) => q`${column} = ${values[at] as string}`), q`k.rid < ${rid}`])].map(
      (one) => q`(${one})`,
    ),
  )
}

export const orderBy = (keys: readonly SortKey[]): Fragment =>
  raw([...keys.map(({ descending }, at) => `k.s${at} ${descending ? 'DESC' : 'ASC'}`), 'k.rid DESC'].join(', '))

export const selected = (keys: readonly SortKey[], d: string): Fragment =>
  join(
    keys.map(({ value }, at) => q`, ${value(d)} AS ${raw(`s${at}`)}`),
    '',
  )
