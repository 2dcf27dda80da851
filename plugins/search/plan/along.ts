/**
 * Sorts by scanning an index that is in the order of the sort: a page then reads its own rows and those that the
 * checks reject, whereas a sort reads the values of all matches.
 */
import { checks, createAliases } from '../query/clause-sql.ts'
import type { Plan } from '../query/plan-contract.ts'
import type { IndexScan, SortValue } from '../query/walk.ts'
import { and, type Fragment, join, or, q, raw } from '../sql/fragment.ts'
import type { Direction } from './plan.ts'

/** A scan of an index and its direction: `older` follows the order of the sort, `newer` runs against it. */
export interface Way {
  readonly walk: IndexScan
  readonly descending: boolean
  readonly direction: Direction
}

const isFalling = ({ descending, direction }: Way): boolean => descending === (direction === 'older')

/**
 * Condition for rows after a position: after the values by `order`, and among rows with equal values after `rid`;
 * without `rid` rows with equal values are left out.
 */
const behind = (way: Way, values: readonly SortValue[], rid: number | undefined): Fragment => {
  const { order } = way.walk
  const further = raw(isFalling(way) ? '<' : '>')
  const same = (to: number): readonly Fragment[] =>
    order.slice(0, to).map((column, at) => q`${raw(column)} = ${values[at] as SortValue}`)
  const cases = order.map((column, at) => and([...same(at), q`${raw(column)} ${further} ${values[at] as SortValue}`]))
  const tied = and([...same(order.length), q`w.rid ${raw(way.direction === 'older' ? '<' : '>')} ${rid ?? 0}`])
  // This condition lets the database seek in the index; the one behind it only sorts out rows with an equal first
  // value.
  const from = q`${raw(order[0] as string)} ${raw(isFalling(way) ? '<=' : '>=')} ${values[0] as SortValue}`
  return q`${from} AND ${or([...cases, ...(rid === undefined ? [] : [tied])].map((one) => q`(${one})`))}`
}

const ordering = (way: Way, columns: readonly string[], rid: string): Fragment => {
  const order = isFalling(way) ? 'DESC' : 'ASC'
  return raw(
    [...columns.map((one) => `${one} ${order}`), `${rid} ${way.direction === 'older' ? 'DESC' : 'ASC'}`].join(', '),
  )
}

/** Aliases of the selected columns: `s0`, … for sort values, `o0`, … for the columns of the order. */
const names = (letter: string, columns: readonly string[]): readonly string[] =>
  columns.map((_one, at) => `${letter}${at}`)
const selectedAs = (letter: string, columns: readonly string[]): Fragment =>
  raw(columns.map((one, at) => `, ${one} AS ${letter}${at}`).join(''))

export interface Stretch {
  readonly pin: number
  /** Only rows after these sort values; among equal ones those after `rid`, if it is given. */
  readonly from?: { readonly keys: readonly SortValue[]; readonly rid?: number }
  readonly limit: number
  /** Reads only so many rows of each part, before the checks. */
  readonly near?: number | undefined
}

/** Selects the nearest matches along an index, nearest first: `rid`, `s0`, … */
export const scanSql = (plan: Plan, way: Way, { pin, from, limit, near }: Stretch): Fragment => {
  const { walk } = way
  const name = createAliases()
  const after = from === undefined ? raw('1 = 1') : behind(way, walk.at(from.keys), from.rid)
  const tests = (w: string): Fragment => checks({ ...plan, drivingClause: undefined }, w, name)
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

/** Selects all matches whose first value is within `ends`: `rid`, `s0`, … */
export const between = (
  plan: Plan,
  { walk }: Way,
  pin: number,
  ends: readonly (readonly [sign: '<=' | '>=', keys: readonly SortValue[]])[],
): Fragment => {
  const name = createAliases()
  const first = raw(walk.order[0] as string)
  const within = and(ends.map(([sign, keys]) => q`${first} ${raw(sign)} ${walk.at(keys)[0] as SortValue}`))
  const tests = checks({ ...plan, drivingClause: undefined }, 'w', name)
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

/** The same plan, limited to matches without a sort value. */
export const lacking = (plan: Plan, lacks: NonNullable<IndexScan['lacks']>): Plan => ({
  ...plan,
  conditions: [...plan.conditions, { text: '', description: '', checkSql: lacks }],
})
