/**
 * Flushes the insert buffer that a killed process left in the table `backlog`. Done before anything else, migrations
 * included: the statements are those of the build that wrote the rows.
 */
import type BetterSqlite from 'better-sqlite3'
import type { SqlScalar } from '../contract.ts'
import { readRecord } from './insert-buffer-record.ts'
import { CLEAR_ROWS } from './insert-buffer-tables.ts'

interface Insert {
  readonly width: number
  readonly statement: BetterSqlite.Statement
}

const hasBacklog = (handle: BetterSqlite.Database): boolean =>
  handle.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'backlog'").get() !== undefined

/** Returns the number of commits whose rows were left. */
export const flushInsertBuffer = (handle: BetterSqlite.Database): number => {
  if (!hasBacklog(handle)) return 0
  const left = handle.prepare<[], { rows: Buffer | string }>('SELECT rows FROM backlog ORDER BY seq').all()
  if (left.length === 0) return 0
  const inserts = new Map(
    handle
      .prepare<[], { number: number; width: number; text: string }>('SELECT number, width, text FROM backlog_insert')
      .all()
      .map(({ number, width, text }) => [number, { width, statement: handle.prepare(text) }]),
  )
  const insertOf = (number: number): Insert => inserts.get(number) as Insert
  const put = (number: number, params: readonly SqlScalar[]): void => {
    const { width, statement } = insertOf(number)
    for (let at = 0; at < params.length; at += width) statement.run(...params.slice(at, at + width))
  }
  handle.transaction(() => {
    for (const { rows } of left)
      if (typeof rows !== 'string') readRecord(rows, (number) => insertOf(number).width, put)
      // Earlier builds stored them as JSON.
      else for (const [number, ...params] of JSON.parse(rows) as [number, ...SqlScalar[]][]) put(number, params)
    handle.exec(CLEAR_ROWS)
  })()
  return left.length
}
