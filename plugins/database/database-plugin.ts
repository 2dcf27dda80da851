/**
 * Makes the plugin. Tests make one without the writer lease, in which several servers write into one PostgreSQL: what
 * they share must stay whole then as well; and one that follows another server.
 */
import { BUILD, definePlugin } from '../../kernel/index.ts'
import { checkPlace } from './check-place.ts'
import { clusterSection, databaseSection, fhirDatabaseKeys } from './config.ts'
import { Database } from './contract.ts'
import * as errors from './errors.ts'
import { ChangeFeed } from './feed/change-feed.ts'
import { changeMigration } from './feed/change-migration.ts'
import { createFeedHub } from './feed/feed-hub.ts'
import { createLazyDatabase } from './lazy-database.ts'
import { leaseMigration } from './lease-migration.ts'
import { openDatabase } from './open.ts'
import { openReadOnly } from './open-read-only.ts'
import type { LeaseOptions } from './opening.ts'
import { pinsMigration } from './pins-migration.ts'
import * as postgresErrors from './postgres/errors.ts'
import { runBeside } from './run-beside.ts'
import { cacheSizesOf } from './sqlite/cache-size.ts'
import { insertBufferMigration } from './sqlite/insert-buffer-tables.ts'

const RESTART = 75 // exit code that asks a supervisor to start the process again: EX_TEMPFAIL of sysexits.h

/** The plugin `cluster` declares the role and checks what goes with it; without that plugin there is none. */
const isReplica = (cluster: object): boolean => (cluster as { readonly role?: unknown }).role === 'replica'

const modeOf = (of: {
  serves: boolean
  isReader: boolean
  follows: boolean
  hasLease: boolean
}): LeaseOptions['mode'] => {
  if (!of.serves) return 'try'
  if (of.isReader || of.follows) return 'read'
  return of.hasLease ? 'wait' : 'none'
}

export const makeDatabasePlugin = ({
  hasLease,
  follows = false,
}: {
  readonly hasLease: boolean
  readonly follows?: boolean
}) =>
  definePlugin({
    name: 'database',
    description: 'Stores everything in SQLite or PostgreSQL and migrates the schema of all plugins',
    config: { database: databaseSection, cluster: clusterSection, fhir: fhirDatabaseKeys },
    provides: [Database, ChangeFeed],
    migrations: [pinsMigration, insertBufferMigration, leaseMigration, changeMigration],
    errors: { ...errors, ...postgresErrors },
    commands: { migrate: async () => (await import('./commands/migrate.ts')).default },
    setup({ config: { database, cluster, fhir }, ...host }) {
      const { provide, readiness, busy, gate, fatal, serves, plugins, clock, random, memory, log } = host
      checkPlace(database)
      const isReader = serves && isReplica(cluster)
      const readOnly: Database['readOnly'] = (work) => openReadOnly(database, log, work)
      const beside: Database['beside'] = (work) => runBeside(database, log, work)
      const late = createLazyDatabase({ kind: database.kind, isReader, readOnly, beside })
      provide(Database, late.database)
      const feed = createFeedHub(log)
      provide(ChangeFeed, feed.feed)
      readiness('the file of the database was removed or replaced', async () => late.opened?.isInPlace() ?? true)
      readiness('the database is away or read-only', async (signal) => (await late.opened?.check(signal)) ?? false)
      readiness('the watermark cannot be recorded', async () => late.opened?.mayAnswer() ?? true)
      readiness('the database was migrated by a newer build', async () => late.opened?.isOutgrown() !== true)
      readiness('the replica has stopped following the primary', async () => late.opened?.isFollowing() ?? true)
      if (database.kind === 'postgres') {
        gate(() => (late.opened?.mayAnswer() === false ? errors.LeaseUnconfirmed() : undefined))
        gate(() => (late.opened?.isOutgrown() === true ? errors.SchemaOutgrown() : undefined))
      }
      return {
        async start(signal) {
          busy('opening the database')
          if (database.kind !== 'postgres' && database.postgres_url !== undefined)
            log.warn(`postgres_url is not used: the database is of kind ${database.kind}`)
          late.open(
            await openDatabase(
              {
                kind: database.kind,
                sqlitePath: database.sqlite_path,
                sqliteMmapSize: database.sqlite_mmap_size,
                caches: cacheSizesOf(memory),
                postgresUrl: database.postgres_url,
                pool: cluster.db_pool,
                release: fhir.version,
                build: BUILD,
                plugins,
                entities: async () => (await Promise.all(plugins.map((plugin) => plugin.entities?.() ?? []))).flat(),
                lease: {
                  mode: modeOf({ serves, isReader, follows, hasLease: hasLease || database.kind !== 'postgres' }),
                  onWait(holder) {
                    busy('waiting for the writer lease')
                    log.info({ holder }, 'waiting for the writer lease')
                  },
                  onUnmigrated(pending) {
                    busy('waiting for the primary to migrate the database')
                    log.info({ pending }, 'waiting for the primary to migrate the database')
                  },
                  onTaken: () => busy('opening the database'),
                  onLost: () => fatal(errors.LeaseLost(), RESTART),
                },
                feed,
                clock,
                random,
                log,
              },
              signal,
            ),
          )
        },
        stop: () => late.close(),
      }
    },
  })
