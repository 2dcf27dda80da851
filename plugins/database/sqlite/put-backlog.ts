/**
 * Puts rows into their tables that a process left in the backlog when it was killed. Before anything else is done with
 * the file, migrations too: the statements are those of the build that wrote the rows.
 */
import type BetterSqlite from 'better-sqlite3'
import type { Plain } from '../service.ts'
import { CLEAR_ROWS } from './backlog-tables.ts'

const hasBacklog = (handle: BetterSqlite.Database): boolean =>
  handle.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'backlog'").get() !== undefined

/** Returns how many commits had left some. */
export const putBacklog = (handle: BetterSqlite.Database): number => {
  if (!hasBacklog(handle)) return 0
  const left = handle.prepare<[], { rows: string }>('SELECT rows FROM backlog ORDER BY seq').all()
  if (left.length === 0) return 0
  const inserts = new Map(
    handle
      .prepare<[], { number: number; width: number; text: string }>('SELECT number, width, text FROM backlog_insert')
      .all()
      .map(({ number, width, text }) => [number, { width, statement: handle.prepare(text) }]),
  )
  handle.transaction(() => {
    for (const { rows } of left)
      for (const [number, ...params] of JSON.parse(rows) as [number, ...Plain[]][]) {
        const { width, statement } = inserts.get(number) as { width: number; statement: BetterSqlite.Statement }
        for (let at = 0; at < params.length; at += width) statement.run(...params.slice(at, at + width))
      }
    handle.exec(CLEAR_ROWS)
  })()
  return left.length
}
