/**
 * Inspects a PostgreSQL database before it is used: refuses settings that would lose or garble data, or warns of them.
 */
import type { Logger } from '../../../kernel/index.ts'
import { EncodingUnsuitable, ReadOnlyServer, SchemaMissing } from './errors.ts'
import type { Session } from './session.ts'

export interface ServerFacts {
  readonly database: string
  readonly version: string
  /** synchronous_commit is off: a commit that returned may be lost; sessions have to turn it on. */
  readonly asynchronous: boolean
}

export const inspectServer = async (session: Session, log: Logger): Promise<ServerFacts> => {
  const { rows } = await session.query<
    Record<'database' | 'version' | 'encoding' | 'fsync' | 'commit' | 'mode' | 'path', string> & {
      readonly found: unknown
    }
  >(
    `SELECT current_database() AS database, current_setting('server_version') AS version,
            current_setting('server_encoding') AS encoding, current_setting('fsync') AS fsync,
            current_setting('synchronous_commit') AS commit, current_setting('search_path') AS path,
            EXISTS (SELECT 1 FROM pg_namespace
              WHERE nspname = ANY (string_to_array(translate(current_setting('search_path'), ' "', ''), ',')
                                   || current_user::text)) AS found,
            CASE WHEN pg_is_in_recovery() THEN 'a standby'
                 WHEN current_setting('transaction_read_only') = 'on' THEN 'default_transaction_read_only is on'
                 ELSE '' END AS mode`,
  )
  const { database, version, encoding, fsync, commit, mode, found, path } = rows[0]!
  if (encoding !== 'UTF8') throw EncodingUnsuitable(database, encoding, "'UTF8'")
  if (mode !== '') throw ReadOnlyServer(database, mode)
  if (found === 'f' || found === false) throw SchemaMissing(database, path)
  if (fsync !== 'on') log.warn('PostgreSQL runs with fsync off: a crash of its machine can lose what was stored')
  if (commit === 'off') log.warn('PostgreSQL runs with synchronous_commit off: this server turns it on for itself')
  return { database, version, asynchronous: commit === 'off' }
}
