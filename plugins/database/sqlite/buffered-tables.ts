/** The tables that have, or had, buffered rows: few, and they stay the same. */
import type { Sql } from '../contract.ts'

export interface BufferedTables {
  add(table: string): void
  /** Whether a statement names one of them. The answer is kept for each statement. */
  areNamedBy(statement: Sql): boolean
}

export const createBufferedTables = (): BufferedTables => {
  const tables = new Set<string>()
  let names = /(?!)/
  let judged = new WeakMap<Sql, boolean>()
  return {
    add(table) {
      if (tables.has(table)) return
      tables.add(table)
      names = new RegExp(`\\b(?:${[...tables].join('|')})\\b`, 'i')
      judged = new WeakMap()
    },
    areNamedBy(statement) {
      let named = judged.get(statement)
      if (named === undefined) {
        named = names.test(statement.sqlite)
        judged.set(statement, named)
      }
      return named
    },
  }
}
