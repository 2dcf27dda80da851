/** Reads the recorded schema, without opening the database for anything else. A missing SQLite file has none. */

import type { Logger } from '../../kernel/index.ts'
import { PostgresUrlMissing } from './errors.ts'
import type { RecordedSchema } from './schema.ts'
import { NOTHING_RECORDED } from './schema.ts'

/** `database` is the section of server.toml. Throws when the database cannot be read. */
export const readSchema = async (database: Readonly<Record<string, unknown>>, log: Logger): Promise<RecordedSchema> => {
  if (database.kind === 'memory') return NOTHING_RECORDED
  if (database.kind === 'postgres') {
    if (database.postgres_url === undefined) throw PostgresUrlMissing()
    const { readPostgresSchema } = await import('./postgres/read-schema.ts')
    return readPostgresSchema(String(database.postgres_url), log)
  }
  const { readSqliteSchema } = await import('./sqlite/read-schema.ts')
  return readSqliteSchema(String(database.sqlite_path))
}
