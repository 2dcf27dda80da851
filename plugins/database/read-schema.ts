/** Reads what is recorded, without opening the database for anything else. A missing SQLite file has nothing recorded. */
import type { RecordedSchema } from './schema.ts'

export const NOTHING_RECORDED: RecordedSchema = Object.freeze({ migrations: [], pins: {} })

/** `database` is the section of server.toml. Throws when the database cannot be read. */
export const readSchema = async (database: Readonly<Record<string, unknown>>): Promise<RecordedSchema> => {
  if (database.kind === 'memory') return NOTHING_RECORDED
  const { readSqliteSchema } = await import('./sqlite/read-schema.ts')
  return readSqliteSchema(String(database.sqlite_path))
}
