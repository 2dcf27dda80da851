/**
 * Clauses → statements: a page of the newest, in bounded work. Where rows were left out that may count, it is told, and
 * the search is planned like any other.
 */
import { type Sql, sql } from '../../../database/service.ts'
import type { Clause } from './clause.ts'

/** Rows of the clause that is scanned; for each of them the other clauses are checked. */
export const MOST = 500

/** Numbers of rows that are no resources: some were left out, which count or which count when the page is not full. */
export const STRAYS = -1
export const MORE = -2

export interface UsualStatement {
  /** Takes what `find` of the driver takes, what the checks take, and the limit. */
  readonly page: Sql
  /** The page is all there is, up to one more than `MOST`, in no order and with repeats; it takes no limit. */
  readonly isCollected: boolean
  /** A row when the driver leaves out rows that count. Takes its other parameters. */
  readonly strays: Sql | undefined
  /** A row when the driver has more rows than were gone through. Takes what `find` takes. */
  readonly more: Sql | undefined
  /** Which of the two are rows of the page itself, `STRAYS` and `MORE`, and take their parameters behind the limit. */
  readonly notes: { readonly strays: boolean; readonly more: boolean }
  /** Places of the clauses. */
  readonly driver: number
  readonly checked: readonly number[]
}

/** The clause to start from; -1 where only counting would tell. */
const driverOf = (clauses: readonly Clause[]): number => {
  if (clauses.length === 1) return 0
  const ordered = clauses.findIndex((one) => one.selective && one.ordered)
  return ordered === -1 ? clauses.findIndex(({ selective }) => selective) : ordered
}

const checksOf = (clauses: readonly Clause[], d: string): readonly string[] =>
  clauses.map(
    ({ table, check }) =>
      `(SELECT 1 FROM ${table} y WHERE ${check.replaceAll('x.', 'y.')} AND y.rid = ${d}.rid LIMIT 1) IS NOT NULL`,
  )

const BODY = 'r.rid, r.type, r.id, r.ver, r.upd, r.flags, r.body'
const CURRENT = 'r.rid = k.rid AND (r.flags & 1) = 0'

/** Undefined for clauses that have to be counted. */
export const toStatement = (
  name: string,
  clauses: readonly Clause[],
  isPostgres: boolean,
): UsualStatement | undefined => {
  const driver = driverOf(clauses)
  const first = clauses[driver]
  if (first === undefined) return undefined
  const checked = clauses.map((_clause, at) => at).filter((at) => at !== driver)
  const others = checked.map((at) => clauses[at] as Clause)
  const { table, find, ordered, strays: left } = first
  const found = `SELECT x.rid AS rid FROM ${table} x WHERE ${find}`
  const where = others.length === 0 ? '' : ` WHERE ${checksOf(others, 'd').join(' AND ')}`
  const isBounded = ordered && others.length === 0
  const newest = isBounded
    ? `${found} ORDER BY x.rid DESC LIMIT ?`
    : ordered
      ? `SELECT d.rid AS rid FROM (${found} ORDER BY x.rid DESC LIMIT ${MOST}) d${where} ORDER BY d.rid DESC LIMIT ?`
      : `SELECT DISTINCT d.rid AS rid FROM (${found} LIMIT ${MOST}) d${where} ORDER BY d.rid DESC LIMIT ?`
  const strays = left === undefined ? undefined : `SELECT 1 AS one FROM ${table} x WHERE ${left} LIMIT 1`
  const more = isBounded ? undefined : `${found} LIMIT 1 OFFSET ${MOST}`
  const shared = { driver, checked }
  if (isPostgres) {
    // One statement with the bodies: a second one would travel as long.
    const note = (rid: number, test: string): string => `SELECT ${rid}, 0, '', 0, 0, 0, NULL WHERE EXISTS (${test})`
    const parts = [`SELECT ${BODY} FROM (${newest}) k CROSS JOIN resource r WHERE ${CURRENT}`]
    if (strays !== undefined) parts.push(note(STRAYS, strays))
    if (more !== undefined) parts.push(note(ordered ? MORE : STRAYS, more))
    const page = sql(name, parts.join(' UNION ALL '))
    const notes = { strays: strays !== undefined, more: more !== undefined }
    return { ...shared, page, isCollected: false, strays: undefined, more: undefined, notes }
  }
  // Here each statement is a call. Bodies are mostly in memory.
  const brief = (rows: string): Sql => sql(name, `SELECT r.rid, r.ver FROM ${rows}`)
  return {
    ...shared,
    page: ordered
      ? brief(`(${newest}) k CROSS JOIN resource r WHERE ${CURRENT}`)
      : brief(
          `${table} x CROSS JOIN resource r WHERE ${[find, ...checksOf(others, 'x'), 'r.rid = x.rid', '(r.flags & 1) = 0'].join(' AND ')} LIMIT ${MOST + 1}`,
        ),
    isCollected: !ordered,
    notes: { strays: false, more: false },
    strays: strays === undefined ? undefined : sql(`${name}.strays`, strays),
    more: more === undefined || !ordered ? undefined : sql(`${name}.more`, more),
  }
}
