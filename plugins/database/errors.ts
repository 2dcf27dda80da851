/** Errors of the database. */
import { defineError } from '../../kernel/index.ts'

export const DatabaseFullForReads = defineError(
  'database/full-for-reads',
  507,
  'no-store',
  'The database has no room left, and what was stored last cannot be put where searches look for it. Reading by id goes on. The operator has to free disk space.',
)
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
export const HeldUp = defineError(
  'database/held-up',
  503,
  'transient',
  'Other changes held for too long what this one needs; nothing was stored. Try again.',
)
export const Outdated = defineError(
  'database/outdated',
  503,
  'transient',
  'Another server on this database has changed what this one works by; nothing was stored. Try again. Where it stays so the operator has to restart this server, with the packages and the build of the other.',
)
export const DatabaseConflict = defineError(
  'database/conflict',
  409,
  'conflict',
  'Somebody else stored the same at the same moment; nothing was stored. Look at what is there, and try again.',
)
export const DatabaseInUse = defineError(
  'database/in-use',
  500,
  'exception',
  '%s is in use by %s. One server at a time may have a SQLite file open: stop that process, or give another path with [database] sqlite_path or --sqlite.',
)
export const DatabaseGone = defineError(
  'database/gone',
  503,
  'transient',
  'The file of the database was removed or replaced while the server runs: the change may or may not have been stored. Look before you try again; nothing more is stored until the operator has put the file back and restarted the server.',
)
export const DatabaseSeveralNames = defineError(
  'database/several-names',
  500,
  'exception',
  '%s may be open under another name: %s. A SQLite file has a write-ahead log for each of its names, so two servers would lose writes of each other. %s, or give another path with [database] sqlite_path or --sqlite.',
)
export const DatabaseTaken = defineError(
  'database/taken',
  503,
  'transient',
  'Another server has opened the database of this server, whose lock file was removed; nothing was stored. Send requests to the other server; the operator has to stop this one.',
)
export const DatabaseUnsynced = defineError(
  'database/unsynced',
  503,
  'transient',
  'The disk has failed to store a change, so this server makes no more of them. The operator has to look after the disk and start the server again.',
)
export const LeaseLost = defineError(
  'database/lease-lost',
  503,
  'transient',
  'Another server has taken over the database of this one, which ends now and may be started again. Send requests to the other server.',
)
export const LeaseEnded = defineError(
  'database/lease-ended',
  503,
  'transient',
  'The writer lease under which this request began has ended; nothing was stored. Try again. Where another server writes now, this one answers nothing more and ends.',
)
export const LeaseUnconfirmed = defineError(
  'database/lease-unconfirmed',
  503,
  'transient',
  'The database does not confirm that this server is still the one that writes, so it answers nothing. Try again.',
)
export const MigrationPending = defineError(
  'database/migration-pending',
  500,
  'exception',
  'A server of another build uses the database, whose schema this build would change (%s). Stop that server first.',
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
export const DatabaseFolderMissing = defineError(
  'database/folder-missing',
  500,
  'exception',
  'There is no folder %s for the database %s. Create it, or give another path with [database] sqlite_path or --sqlite.',
)
export const DatabaseNotOpened = defineError(
  'database/not-opened',
  500,
  'exception',
  '%s cannot be opened: %s. Mend that and start the server again, or give another path with [database] sqlite_path or --sqlite.',
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
export const ReadsOnly = defineError(
  'database/reads-only',
  503,
  'transient',
  'This server only reads, and the change is one for the server that writes; nothing was changed.',
)
export const SchemaOutgrown = defineError(
  'database/outgrown',
  503,
  'transient',
  'A newer build has migrated the database, and this server answers nothing any more. Ask another server.',
)
export const QueryCancelled = defineError(
  'database/query-cancelled',
  503,
  'timeout',
  'The query was cancelled before it finished.',
)
export const TransactionQueriesTooLong = defineError(
  'database/transaction-queries-too-long',
  400,
  'too-costly',
  'The searches of this change took too long on SQLite, where other changes wait for them; nothing was stored. Name a parameter that few resources match, or send what only searches in a batch.',
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
export const SqlitePathInMemory = defineError(
  'database/sqlite-path-in-memory',
  500,
  'exception',
  '[database] sqlite_path is :memory:, which names no file. Give the path of a file, or start with --memory (kind = "memory") for a database that leaves none.',
)
export const PostgresUrlMissing = defineError(
  'database/postgres-url-missing',
  500,
  'exception',
  '[database] kind is postgres and there is no postgres_url; set it, SERVER_POSTGRES_URL or --postgres.',
)
export const StatementTooLarge = defineError(
  'database/statement-too-large',
  400,
  'too-costly',
  'The request makes a statement that is larger than the database takes (%s). Split it into several requests.',
)
export const DatabaseMissing = defineError(
  'database/missing',
  500,
  'exception',
  'There is no database to read: %s. Start a server on it first, or name another one with --sqlite or --postgres.',
)
export const MemoryNotShared = defineError(
  'database/memory-not-shared',
  500,
  'exception',
  'There is no database to read: one in memory is gone with its server. Name one with --sqlite or --postgres.',
)
