/** Opens a SQLite file for a command that only reads. */

import type { ThreadReader } from '../contract.ts'
import { DatabaseMissing } from '../errors.ts'
import { inspectFile } from './inspect.ts'
import { openReadOnlyFile } from './open-read-only-file.ts'

/** Throws for a file that is missing or is not a database of this server. */
export const openReadOnlySqlite = async <T>(path: string, work: (reader: ThreadReader) => Promise<T>): Promise<T> => {
  if ((await inspectFile(path)) === 'new') throw DatabaseMissing(path)
  const look = await openReadOnlyFile(path)
  try {
    return await work({
      all: <R>(...[{ sqlite }, params]: Parameters<ThreadReader['all']>) => look.rows<R>(sqlite, params),
    })
  } finally {
    look.close()
  }
}
