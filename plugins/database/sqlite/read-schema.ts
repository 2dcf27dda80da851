/** Reads the recorded schema of a SQLite file; a missing file has none and is not created. */
import { existsSync } from 'node:fs'
import type { RecordedSchema } from '../schema.ts'
import { NOTHING_RECORDED } from '../schema.ts'
import { inspectFile } from './inspect.ts'
import { readRecordedSqliteSchema } from './open.ts'
import { openReadOnlyFile } from './open-read-only-file.ts'

export const readSqliteSchema = async (path: string): Promise<RecordedSchema> => {
  if (!existsSync(path) || (await inspectFile(path)) === 'new') return NOTHING_RECORDED
  const look = await openReadOnlyFile(path)
  try {
    return readRecordedSqliteSchema(look.rows)
  } finally {
    look.close()
  }
}
