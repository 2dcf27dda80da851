/** Events newest first, by keyset: pages hold still while others are added. */
import { type Database, type Sql, sql } from '../../database/service.ts'
import { COLUMNS, type Row } from '../tables.ts'
import type { Condition } from './parameters.ts'

const MOST_SHAPES = 200 // texts that are kept; clients ask in few ways

export interface Position {
  readonly at: number
  readonly seq: number
}

export interface Finder {
  /** At most `limit` rows behind `after`. */
  find(
    conditions: readonly Condition[],
    after: Position | undefined,
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly Row[]>
}

export const createFinder = (database: Database): Finder => {
  const made = new Map<string, Sql>()
  const statement = (text: string): Sql => {
    const known = made.get(text)
    if (known !== undefined) return known
    if (made.size >= MOST_SHAPES) made.clear()
    const one = sql(`audit.find-${made.size}`, text)
    made.set(text, one)
    return one
  }
  return {
    find(conditions, after, limit, signal) {
      const all: Condition[] = [...conditions]
      if (after !== undefined) all.push({ text: '(at, seq) < (?, ?)', params: [after.at, after.seq] })
      const where = all.length === 0 ? '' : `WHERE ${all.map(({ text }) => text).join(' AND ')}`
      const text = `SELECT ${COLUMNS.join(', ')} FROM audit_event ${where} ORDER BY at DESC, seq DESC LIMIT ?`
      return database.slow<Row>(statement(text), [...all.flatMap(({ params }) => params), limit], signal)
    },
  }
}
