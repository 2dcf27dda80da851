/**
 * Sorting along an index whose order is the order asked for: a page costs its own rows and what the checks refuse, where
 * sorting would read the values of all matches.
 */
import { createAliases } from '../query/clause-sql.ts'
import type { Plan } from '../query/plan-contract.ts'
import type { IndexScan, SortValue } from '../query/walk.ts'
import { and, type Fragment, join, or, q, raw } from '../sql/fragment.ts'
import type { Direction } from './plan.ts'

/** Where along the index: on from one row in the order asked for, or back from it. */
export interface Way {
  readonly walk: IndexScan
  readonly descending: boolean
  readonly direction: Direction
}

const isFalling = ({ descending, direction }: Way): boolean => descending === (direction === 'older')

/** Behind a row by `order`; of those that are equal in it those behind `rid`, or none. */
const behind = (way: Way, values: readonly SortValue[], rid: number | undefined): Fragment => {
  const { order } = way.walk
  const further = raw(isFalling(way) ? '<' : '>')
  const same = (to: number): readonly Fragment[] =>
    order.slice(0, to).map((column, at) => q`${raw(column)} = ${values[at] as SortValue}`)
  const cases = order.map((column, at) => and([...same(at), q`${raw(column)} ${further} ${values[at] as SortValue}`]))
  const tied = and([...same(order.length), q`w.rid ${raw(way.direction === 'older' ? '<' : '>')} ${rid ?? 0}`])
  // The index is entered by the first; the rest only tells rows apart that are equal in it.
  const from = q`${raw(order[0] as string)} ${raw(isFalling(way) ? '<=' : '>=')} ${values[0] as SortValue}`
  return q`${from} AND ${or([...cases, ...(rid === undefined ? [] : [tied])].map((one) => q`(${one})`))}`
}

const ordering = (way: Way, columns: readonly string[], rid: string): Fragment => {
  const order = isFalling(way) ? 'DESC' : 'ASC'
  return raw(
    [...columns.map((one) => `${one} ${order}`), `${rid} ${way.direction === 'older' ? 'DESC' : 'ASC'}`].join(', '),
  )
}

/** Names of the columns of a walk: `s0` … are the values of keys, `o0` … those of the order. */
const names = (letter: string, columns: readonly string[]): readonly string[] =>
  columns.map((_one, at) => `${letter}${at}`)
const selectedAs = (letter: string, columns: readonly string[]): Fragment =>
  raw(columns.map((one, at) => `, ${one} AS ${letter}${at}`).join(''))

export interface Stretch {
  readonly pin: number
  /** Only rows behind these values of the keys: of equal ones those behind `rid`, where it is given. */
  readonly from?: { readonly keys: readonly SortValue[]; readonly rid?: number }
  readonly limit: number
  /** Of each part, the first so many rows, whether the checks let them through or not. */
  readonly near?: number | undefined
}

/** Matches along an index, the nearest first: `rid`, `s0`, … */
export const scanSql = (plan: Plan, way: Way, { pin, from, limit, near }: Stretch): Fragment => {
  const { walk } = way
  const name = createAliases()
  const after = from === undefined ? raw('1 = 1') : behind(way, walk.at(from.keys), from.rid)
  const tests = (w: string): Fragment =>
    join(
      plan.conditions.map((one) => q` AND ${one.checkSql(w, name)}`),
      '',
    )
  const sorted = ordering(way, names('o', walk.order), 'rid')
  const streams = walk.parts(plan.type).map((part, at) => {
    const columns = q`w.rid AS rid${selectedAs('o', walk.order)}${selectedAs('s', walk.keys)}`
    const rows = q`SELECT ${columns} FROM ${raw(walk.table)} w WHERE ${part} AND ${after} AND +w.rid <= ${pin} AND ${walk.once}`
    const inOrder = q`ORDER BY ${ordering(way, walk.order, 'w.rid')}`
    const found =
      near === undefined
        ? q`${rows}${tests('w')} ${inOrder} LIMIT ${limit}`
        : q`SELECT * FROM (${rows} ${inOrder} LIMIT ${raw(`${near}`)}) n WHERE 1 = 1${tests('n')} ORDER BY ${sorted} LIMIT ${limit}`
    return q`SELECT * FROM (${found}) ${raw(`w${at}`)}`
  })
  const shown = raw(names('s', walk.keys).join(', '))
  return q`SELECT rid, ${shown} FROM (${join(streams, ' UNION ALL ')}) k ORDER BY ${sorted} LIMIT ${limit}`
}

/** All matches from one value of the first key to another, both included: `rid`, `s0`, … */
export const between = (
  plan: Plan,
  { walk }: Way,
  pin: number,
  ends: readonly (readonly [sign: '<=' | '>=', keys: readonly SortValue[]])[],
): Fragment => {
  const name = createAliases()
  const first = raw(walk.order[0] as string)
  const within = and(ends.map(([sign, keys]) => q`${first} ${raw(sign)} ${walk.at(keys)[0] as SortValue}`))
  const tests = join(
    plan.conditions.map((one) => q` AND ${one.checkSql('w', name)}`),
    '',
  )
  return join(
    walk
      .parts(plan.type)
      .map(
        (part) =>
          q`SELECT w.rid AS rid${selectedAs('s', walk.keys)} FROM ${raw(walk.table)} w WHERE ${part} AND ${within} AND +w.rid <= ${pin} AND ${walk.once}${tests}`,
      ),
    ' UNION ALL ',
  )
}

/** The same plan for matches without a value. */
export const lacking = (plan: Plan, lacks: NonNullable<IndexScan['lacks']>): Plan => ({
  ...plan,
  conditions: [...plan.conditions, { text: '', description: '', checkSql: lacks }],
})
