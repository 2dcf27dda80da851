/** Rows of a SQLite file for a command that only reads. */

import type { Reading } from '../contract.ts'
import { DatabaseMissing } from '../errors.ts'
import { inspectFile } from './inspect.ts'
import { lookInto } from './look.ts'

/** Throws for a file that is missing or not one of ours. */
export const lookIntoSqlite = async <T>(path: string, work: (reading: Reading) => Promise<T>): Promise<T> => {
  if ((await inspectFile(path)) === 'new') throw DatabaseMissing(path)
  const look = await lookInto(path)
  try {
    return await work({ all: <R>(...[{ sqlite }, params]: Parameters<Reading['all']>) => look.rows<R>(sqlite, params) })
  } finally {
    look.close()
  }
}
