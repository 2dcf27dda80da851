/**
 * Clauses → one statement: a page of the newest, in bounded work. Where there is more than may be gone through, a row
 * says so, and the search is planned like any other.
 */
import { type Sql, sql } from '../../../database/service.ts'
import type { Clause } from './clause.ts'

/** Rows of the clause that is scanned; for each of them the other clauses are checked. */
const MOST = 500

/** Numbers of rows that are no resources: some were left out that may count, or that count when the page is not full. */
export const STRAYS = -1
export const MORE = -2

/** Which of the parameters of the clauses, in their order, are put where. */
export interface UsualStatement {
  readonly sql: Sql
  readonly driver: number
  readonly checked: readonly number[]
  readonly hasStrays: boolean
  readonly hasMore: boolean
}

const FULL = { columns: 'r.rid, r.type, r.id, r.ver, r.upd, r.flags, r.body', none: "0, '', 0, 0, 0, NULL" }
const BRIEF = { columns: 'r.rid, r.ver', none: '0' }

/** The clause to start from; -1 where only counting would tell. */
const driverOf = (clauses: readonly Clause[]): number => {
  if (clauses.length === 1) return 0
  const isOrdered = clauses.findIndex(({ selective, ordered }) => selective && ordered)
  return isOrdered === -1 ? clauses.findIndex(({ selective }) => selective) : isOrdered
}

/** `withBodies`: over a network one statement is better than two. Undefined for clauses that have to be counted. */
export const toStatement = (
  name: string,
  clauses: readonly Clause[],
  withBodies: boolean,
): UsualStatement | undefined => {
  const driver = driverOf(clauses)
  const first = clauses[driver]
  if (first === undefined) return undefined
  const checked = clauses.map((_clause, at) => at).filter((at) => at !== driver)
  const { columns, none } = withBodies ? FULL : BRIEF
  const { table, find, ordered, strays } = first
  const found = `SELECT x.rid AS rid FROM ${table} x WHERE ${find}`
  const checks = checked
    .map((at) => clauses[at] as Clause)
    .map((one) => `(SELECT 1 FROM ${one.table} x WHERE ${one.check} AND x.rid = d.rid LIMIT 1) IS NOT NULL`)
  const where = checks.length === 0 ? '' : ` WHERE ${checks.join(' AND ')}`
  const isBounded = ordered && checks.length === 0
  const page = isBounded
    ? `${found} ORDER BY x.rid DESC LIMIT ?`
    : ordered
      ? `SELECT d.rid AS rid FROM (${found} ORDER BY x.rid DESC LIMIT ${MOST}) d${where} ORDER BY d.rid DESC LIMIT ?`
      : `SELECT DISTINCT d.rid AS rid FROM (${found} LIMIT ${MOST}) d${where} ORDER BY d.rid DESC LIMIT ?`
  const parts = [`SELECT ${columns} FROM (${page}) k CROSS JOIN resource r WHERE r.rid = k.rid AND (r.flags & 1) = 0`]
  if (strays !== undefined)
    parts.push(`SELECT ${STRAYS}, ${none} WHERE EXISTS (SELECT 1 FROM ${table} x WHERE ${strays})`)
  if (!isBounded)
    parts.push(`SELECT ${ordered ? MORE : STRAYS}, ${none} WHERE EXISTS (${found} LIMIT 1 OFFSET ${MOST})`)
  return {
    sql: sql(name, parts.join(' UNION ALL ')),
    driver,
    checked,
    hasStrays: strays !== undefined,
    hasMore: !isBounded,
  }
}
