/** Opens the database read-only, whatever its schema; a file and its folder are left as they were. */
import type { Logger } from '../../kernel/index.ts'
import type { ThreadReader } from './contract.ts'
import { MemoryNotShared, PostgresUrlMissing } from './errors.ts'

/** `database` is the section of server.toml. */
export const openReadOnly = async <T>(
  database: Readonly<Record<string, unknown>>,
  log: Logger,
  work: (reader: ThreadReader) => Promise<T>,
): Promise<T> => {
  if (database.kind === 'memory') throw MemoryNotShared()
  if (database.kind === 'postgres') {
    if (database.postgres_url === undefined) throw PostgresUrlMissing()
    const { openReadOnlyPostgres } = await import('./postgres/open-read-only.ts')
    return openReadOnlyPostgres(String(database.postgres_url), log, work)
  }
  const { openReadOnlySqlite } = await import('./sqlite/open-read-only.ts')
  return openReadOnlySqlite(String(database.sqlite_path), work)
}
