/** A connection of a thread's own to a SQLite file, for reading. */
import type { Reading } from '../contract.ts'
import { openReader } from './open.ts'
import { createStatements } from './statements.ts'

export const openFileReading = (path: string): Reading => {
  const statements = createStatements(openReader(path))
  return {
    all: <R>(...[statement, params]: Parameters<Reading['all']>) => statements.of(statement).all(...params) as R[],
  }
}
