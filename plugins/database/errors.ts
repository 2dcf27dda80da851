/** What can go wrong between the server and its database. */
import { defineError } from '../../kernel/index.ts'

export const DatabaseFull = defineError(
  'database/full',
  507,
  'no-store',
  'The database has no room left; nothing was stored. The operator has to free disk space.',
)
export const DatabaseUnavailable = defineError(
  'database/unavailable',
  503,
  'transient',
  'The database cannot be used at the moment; nothing was stored. Try again.',
)
export const DatabaseBusy = defineError(
  'database/busy',
  503,
  'transient',
  'The database is locked by another process; nothing was stored. Try again.',
)
export const DatabaseForeign = defineError(
  'database/foreign',
  500,
  'exception',
  '%s is not a database of this server (%s). It was left unchanged; give another path with [database] sqlite_path or --sqlite.',
)
export const DatabaseDamaged = defineError(
  'database/damaged',
  500,
  'exception',
  '%s is damaged: %s. It was left unchanged; restore a backup.',
)
export const DatabaseReadOnly = defineError(
  'database/read-only',
  500,
  'exception',
  '%s cannot be written: %s. Give the server write access to the file and its directory.',
)
export const DatabaseNewer = defineError(
  'database/newer',
  500,
  'exception',
  'The database was migrated by a newer build (%s); this build does not know %s. Start the newer build, or restore a backup made before.',
)
export const DatabaseRelease = defineError(
  'database/release',
  500,
  'exception',
  'The database is pinned to FHIR %s and cannot be opened with [fhir] version = "%s".',
)
export const QueryCancelled = defineError(
  'database/query-cancelled',
  503,
  'timeout',
  'The query was cancelled before it finished.',
)
export const MigrateArguments = defineError(
  'database/migrate-arguments',
  500,
  'exception',
  'server migrate takes one of --status and --dry-run; migrations are applied when the server starts.',
)
export const SchemaUnreadable = defineError(
  'database/schema-unreadable',
  500,
  'exception',
  'The schema of the database cannot be read: %s',
)
export const PostgresUrlMissing = defineError(
  'database/postgres-url-missing',
  500,
  'exception',
  '[database] kind is postgres and there is no postgres_url; set it, SERVER_POSTGRES_URL or --postgres.',
)
export const DatabaseMissing = defineError(
  'database/missing',
  500,
  'exception',
  'There is no database to read: %s. Name one with --sqlite or --postgres.',
)
