/**
 * Compiles clauses to one statement that reads a page of the newest matches with limited work. Where it has left out
 * rows that may match, it returns an extra row, and the general search takes over.
 */
import type { Sql } from '../../database/service.ts'
import type { StatementCache } from '../sql/statements.ts'
import type { CompiledClause } from './compiled-clause.ts'

/** Most rows of the scanned clause. The other clauses are checked for each of them. */
export const MAX_SCANNED_ROWS = 500

/**
 * Values of `rid` in the extra rows. ABSOLUTE_LEFT_OUT: rows were left out that may match. MORE: they matter only if
 * the page is not full.
 */
export const ABSOLUTE_LEFT_OUT = -1
export const MORE = -2

export interface CompiledStatement {
  /**
   * Parameters, in this order: those of the driving clause's `find`, those of the checks, the limit, and for the
   * extra rows the driving clause's other parameters and again those of `find`.
   */
  readonly sql: Sql
  /** The same statement with the bodies. Undefined when it may return more rows than a page. */
  readonly withBodies: Sql | undefined
  /**
   * The statement returns up to MAX_SCANNED_ROWS + 1 rows, unsorted and with repeats. It takes no limit and has no
   * extra rows.
   */
  readonly isCollected: boolean
  /** The statement has an extra row for absolute references under this server's own URL. */
  readonly notesAbsolute: boolean
  readonly notesMore: boolean
  /** Indexes of the clauses. */
  readonly driver: number
  readonly checked: readonly number[]
}

/** Chooses the clause to start from, by rank. If the guess was wrong, the general search counts. */
const driverOf = (clauses: readonly CompiledClause[]): number => {
  const least = Math.min(...clauses.map(({ breadth }) => breadth))
  return clauses.findIndex(({ breadth }) => breadth === least)
}

const checksOf = (clauses: readonly CompiledClause[], d: string): readonly string[] =>
  clauses.map(
    ({ table, check }) =>
      `(SELECT 1 FROM ${table} y WHERE ${check.replaceAll('x.', 'y.')} AND y.rid = ${d}.rid LIMIT 1) IS NOT NULL`,
  )

const IS_CURRENT = '(r.flags & 1) = 0'
const BRIEF = { columns: 'r.rid, r.ver', none: '0' }
const FULL = { columns: 'r.rid, r.type, r.id, r.ver, r.upd, r.flags, r.body', none: "0, '', 0, 0, 0, NULL" }

export const toStatement = (
  statements: StatementCache,
  clauses: readonly CompiledClause[],
  dialect: 'sqlite' | 'postgres',
): CompiledStatement => {
  const driver = driverOf(clauses)
  const first = clauses[driver] as CompiledClause
  const checked = clauses.map((_clause, at) => at).filter((at) => at !== driver)
  const others = checked.map((at) => clauses[at] as CompiledClause)
  const { table, find, isOrdered } = first
  const { absoluteReferences } = first
  if (dialect === 'sqlite' && !isOrdered) {
    // At most MAX_SCANNED_ROWS rows, which are cheaper to sort outside the database.
    const where = [find, ...checksOf(others, 'x'), 'r.rid = x.rid', IS_CURRENT].join(' AND ')
    const text = `SELECT ${BRIEF.columns} FROM ${table} x CROSS JOIN resource r WHERE ${where} LIMIT ${MAX_SCANNED_ROWS + 1}`
    const none = { withBodies: undefined, notesAbsolute: false, notesMore: false }
    return { sql: statements(text), isCollected: true, ...none, driver, checked }
  }
  const found = `SELECT x.rid AS rid FROM ${table} x WHERE ${find}`
  const where = others.length === 0 ? '' : ` WHERE ${checksOf(others, 'd').join(' AND ')}`
  const isBounded = isOrdered && others.length === 0
  const page = isBounded
    ? `${found} ORDER BY x.rid DESC LIMIT ?`
    : isOrdered
      ? `SELECT d.rid AS rid FROM (${found} ORDER BY x.rid DESC LIMIT ${MAX_SCANNED_ROWS}) d${where} ORDER BY d.rid DESC LIMIT ?`
      : `SELECT DISTINCT d.rid AS rid FROM (${found} LIMIT ${MAX_SCANNED_ROWS}) d${where} ORDER BY d.rid DESC LIMIT ?`
  const select = ({ columns, none }: typeof BRIEF): Sql => {
    const note = (rid: number, test: string): string => `SELECT ${rid}, ${none} WHERE EXISTS (${test})`
    const parts = [`SELECT ${columns} FROM (${page}) k CROSS JOIN resource r WHERE r.rid = k.rid AND ${IS_CURRENT}`]
    if (absoluteReferences !== undefined)
      parts.push(note(ABSOLUTE_LEFT_OUT, `SELECT 1 FROM ${table} x WHERE ${absoluteReferences}`))
    if (!isBounded)
      parts.push(note(isOrdered ? MORE : ABSOLUTE_LEFT_OUT, `${found} LIMIT 1 OFFSET ${MAX_SCANNED_ROWS}`))
    return statements(parts.join(' UNION ALL '))
  }
  return {
    sql: select(BRIEF),
    withBodies: select(FULL),
    isCollected: false,
    notesAbsolute: absoluteReferences !== undefined,
    notesMore: !isBounded,
    driver,
    checked,
  }
}
