/** Is there a database that a server has used? For commands, which create none. */
import type { Logger } from '../../kernel/index.ts'
import { DatabaseMissing } from './errors.ts'
import { readSchema } from './read-schema.ts'

/** `database` is the section of server.toml. Throws where there is none. */
export const lookFor = async (database: Readonly<Record<string, unknown>>, log: Logger): Promise<void> => {
  const { migrations } = await readSchema(database, log)
  if (migrations.length > 0) return
  // The address of a PostgreSQL may hold a password.
  throw DatabaseMissing(
    database.kind === 'sqlite' ? String(database.sqlite_path) : `no server has used this ${database.kind}`,
  )
}
