/** Opens the configured kind of database; only the driver that is configured is imported. */

import { PostgresUrlMissing } from './errors.ts'
import type { Opened, OpenOptions } from './opening.ts'

export const openDatabase = async (options: OpenOptions, signal: AbortSignal): Promise<Opened> => {
  if (options.kind === 'postgres') {
    const { postgresUrl } = options
    if (postgresUrl === undefined) throw PostgresUrlMissing()
    const { openPostgres } = await import('./postgres/database.ts')
    return openPostgres({ ...options, postgresUrl }, signal)
  }
  const { openSqlite } = await import('./sqlite/database.ts')
  return openSqlite(options, signal)
}
