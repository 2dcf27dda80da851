/** A read-only connection to a SQLite file for one thread. */
import type { ThreadReader } from '../contract.ts'
import { openReader } from './open.ts'
import { createPreparedStatements } from './statements.ts'

export const openFileReading = (path: string): ThreadReader => {
  const statements = createPreparedStatements(openReader(path))
  return {
    all: <R>(...[statement, params]: Parameters<ThreadReader['all']>) => statements.of(statement).all(...params) as R[],
  }
}
