/** A read-only connection to a SQLite file for one thread. */
import type { ThreadReader } from '../contract.ts'
import { openReader } from './open.ts'
import { createPreparedStatements } from './statements.ts'

const CACHE_KIB = 8_192 // of a thread that lives as long as its work

export const openFileReading = (path: string): ThreadReader => {
  const statements = createPreparedStatements(openReader(path, CACHE_KIB))
  return {
    all: <R>(...[statement, params]: Parameters<ThreadReader['all']>) => statements.of(statement).all(...params) as R[],
  }
}
