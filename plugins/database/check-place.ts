/**
 * Checks in setup where the database is, so that a place that can never work is refused with the other settings, before
 * anything starts.
 */
import { PostgresUrlMissing, SqlitePathInMemory } from './errors.ts'
import { parseConninfo } from './postgres/conninfo.ts'

export interface DatabasePlace {
  readonly kind: string
  readonly sqlite_path: string
  readonly postgres_url?: string
}

/**
 * `database` is the section of server.toml. Throws where the kind is postgres and the URL is missing or cannot be read, and
 * where the path is SQLite's name of a database in memory.
 */
export const checkPlace = (database: DatabasePlace): void => {
  if (database.kind === 'sqlite' && database.sqlite_path.trim() === ':memory:') throw SqlitePathInMemory()
  if (database.kind !== 'postgres') return
  if (database.postgres_url === undefined) throw PostgresUrlMissing()
  parseConninfo(database.postgres_url)
}
