/**
 * Checks postgres_url in setup, so that one that can never work is refused with the other settings, before anything
 * starts.
 */
import { PostgresUrlMissing } from './errors.ts'
import { parseConninfo } from './postgres/conninfo.ts'

/**
 * `database` is the section of server.toml. Throws where the kind is postgres and the URL is missing or cannot be read.
 */
export const checkPostgresUrl = (database: { readonly kind: string; readonly postgres_url?: string }): void => {
  if (database.kind !== 'postgres') return
  if (database.postgres_url === undefined) throw PostgresUrlMissing()
  parseConninfo(database.postgres_url)
}
