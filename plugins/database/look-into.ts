/** Opens the database for reading alone, whatever its schema; a file and its folder are left as they were. */
import type { Logger } from '../../kernel/index.ts'
import type { Reading } from './contract.ts'
import { DatabaseMissing, PostgresUrlMissing } from './errors.ts'

/** `database` is the section of server.toml. */
export const lookInto = async <T>(
  database: Readonly<Record<string, unknown>>,
  log: Logger,
  work: (reading: Reading) => Promise<T>,
): Promise<T> => {
  if (database.kind === 'memory') throw DatabaseMissing('memory')
  if (database.kind === 'postgres') {
    if (database.postgres_url === undefined) throw PostgresUrlMissing()
    const { lookIntoPostgres } = await import('./postgres/look.ts')
    return lookIntoPostgres(String(database.postgres_url), log, work)
  }
  const { lookIntoSqlite } = await import('./sqlite/look-into.ts')
  return lookIntoSqlite(String(database.sqlite_path), work)
}
