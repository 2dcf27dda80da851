/** Checks that a server has used the database. For commands, which must not create one. */
import type { Logger } from '../../kernel/index.ts'
import { DatabaseMissing, MemoryNotShared } from './errors.ts'
import { readSchema } from './read-schema.ts'

/** `database` is the section of server.toml. Throws where there is no database. */
export const lookFor = async (database: Readonly<Record<string, unknown>>, log: Logger): Promise<void> => {
  if (database.kind === 'memory') throw MemoryNotShared()
  const { migrations } = await readSchema(database, log)
  if (migrations.length > 0) return
  // The URL of a PostgreSQL database may hold a password, so it is not shown.
  throw DatabaseMissing(
    database.kind === 'sqlite' ? String(database.sqlite_path) : `no server has used this ${database.kind}`,
  )
}
