/** The Database service on PostgreSQL: a pool of sessions, each statement prepared once, writes in few round trips. */
import type { MikroORM } from '@mikro-orm/core'
import { type Sql, type SqlParam, sql } from '../contract.ts'
import { DatabaseUnavailable } from '../errors.ts'
import { feedStatus } from '../feed/feed-status.ts'
import type { Opened, OpenOptions } from '../opening.ts'
import { changesOf } from '../schema.ts'
import { createAlone } from './alone.ts'
import { type Connector, createConnector } from './client.ts'
import { parseConninfo } from './conninfo.ts'
import { createFence } from './fence.ts'
import { watchSchema } from './follow-schema.ts'
import { createLongQuery } from './long-query.ts'
import { openFeed } from './open-feed.ts'
import { lookForPending, openSchema } from './open-schema.ts'
import { createOrmSessions } from './orm-sessions.ts'
import { createPool } from './pool.ts'
import { createPostgresReader } from './reader.ts'
import { createReading } from './reading.ts'
import { createGroupRunner } from './run-group.ts'
import type { SessionLimits } from './session.ts'
import { sharedOnly } from './shared-only.ts'
import { createTlsFiles } from './tls-files.ts'
import { createTransactions } from './transactions.ts'

const SESSIONS = 8 // spec: default db_pool for postgres
const QUEUE = 2_000 // requests that may wait for a session
const WAIT_MS = 4_000 // for a session
const ANSWER_MS = 4_000 // for a small read; then its session is closed
const CLOSE_MS = 5_000
const LIMITS: SessionLimits = { statementTimeoutMs: 0, lockTimeoutMs: 3_000, idleInTransactionMs: 5_000 }
// A migration waits for readers of the old schema, and servers that start together wait for the one that migrates.
const MIGRATION_LIMITS: SessionLimits = { ...LIMITS, lockTimeoutMs: 60_000, idleInTransactionMs: 60_000 }

// No time limit for the wait for another server that installs packages; the signal of the start ends it.
const ALONE_LIMITS: SessionLimits = { statementTimeoutMs: 0, lockTimeoutMs: 0, idleInTransactionMs: 0 }

// The process that holds the writer lease is replaced within seconds after it is gone.
const LEASE_LIMITS: SessionLimits = {
  statementTimeoutMs: 0,
  lockTimeoutMs: 0,
  idleInTransactionMs: 5_000,
  endsEarly: true,
}
// Of db_pool one session is that of the lease, where three are left for the pool; else it comes on top.
const MIN_SESSIONS = 4

/** Sessions of the pool. One that only reads has at least as many as a snapshot and what is asked beside it need. */
const sizeOf = (most: number, hasLease: boolean, isReader: boolean): number => {
  if (isReader) return Math.max(most, MIN_SESSIONS)
  return hasLease && most >= MIN_SESSIONS ? most - 1 : most
}

const probe = sql('probe', "SELECT current_setting('transaction_read_only') AS readonly")
// backend_type is null for sessions of other roles.
const sessions = sql(
  'sessions',
  "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND coalesce(backend_type, 'client backend') = 'client backend'",
)

export interface PostgresOptions extends OpenOptions {
  readonly postgresUrl: string
}

/** Throws what the connection string, its files or the server do not allow, before anything is changed. */
export const openPostgres = async (options: PostgresOptions, signal?: AbortSignal): Promise<Opened> => {
  const { clock, log, plugins } = options
  const conninfo = parseConninfo(options.postgresUrl)
  const files = createTlsFiles(conninfo.tls, log)
  await files.current()
  const connectorWith = (limits: SessionLimits): Connector => createConnector({ conninfo, files, limits, log })
  const migrator = connectorWith(MIGRATION_LIMITS)
  const own = connectorWith(LEASE_LIMITS)
  const { facts, lease } = await openSchema({ migrator, own, options, signal })

  const connector = connectorWith({ ...LIMITS, synchronousCommit: facts.asynchronous })
  const now = (): number => clock.monotonic()
  const isReader = options.lease.mode === 'read'
  const most = options.pool ?? SESSIONS
  const size = sizeOf(most, lease !== undefined, isReader)
  const pool = createPool({ connector, size, queue: QUEUE, waitMs: WAIT_MS, log, now })
  const reader = createPostgresReader({ pool, queue: QUEUE, answerMs: ANSWER_MS })
  const send = createGroupRunner({ connector, pool })
  const slow = createLongQuery({ pool, connector, send })
  const transactions = createTransactions({ pool, send, now, queue: QUEUE, fence: lease && createFence(lease) })
  const reading = createReading({ pool, send, most: Math.floor((size - 1) / 2) || 1, queue: QUEUE, waitMs: WAIT_MS })
  const feed = await openFeed({
    ...{ connector: own, lease, options, signal },
    database: { transact: transactions.transact, reading },
  }).catch(async (error) => {
    await pool.close(CLOSE_MS)
    await lease?.release()
    throw error
  })
  // The watch repeats until it is stopped, so it begins behind all that may fail.
  const schema = isReader ? watchSchema(reader, lookForPending(migrator, options), log) : undefined
  let orm: Promise<MikroORM> | undefined

  const openOrm = async (): Promise<MikroORM> => {
    const { openPostgresOrm } = await import('./orm.ts')
    const entities = await options.entities()
    return openPostgresOrm(createOrmSessions(pool, isReader), facts.database, {
      entities,
      changes: changesOf(plugins),
      kind: 'postgres',
    })
  }

  return {
    database: {
      kind: 'postgres',
      get: async <R>(statement: Sql, params: readonly SqlParam[]) =>
        (await reader.all(statement, params))[0] as R | undefined,
      all: (statement, params) => reader.all(statement, params) as Promise<any[]>,
      longQuery: (statement, params, signal) => slow(statement, params, signal) as Promise<any[]>,
      threadReaderLocation: () => undefined,
      transact: isReader ? sharedOnly(transactions.transact) : transactions.transact,
      reading,
      alone: createAlone(connectorWith(ALONE_LIMITS)),
      orm() {
        orm ??= openOrm()
        return orm
      },
      status() {
        const { size, open, idle, waiting } = pool.status
        return {
          kind: 'postgres',
          pool: {
            size,
            busy: open - idle,
            waiting: waiting + reader.waiting + transactions.waiting,
          },
          // PostgreSQL also lets COMMITs share a flush, but does not report it.
          commits: { ...transactions.counters },
          ...(lease === undefined ? {} : { lease: { epoch: lease.epoch, seq: lease.commits.onDisk } }),
          ...feedStatus(options.feed),
        }
      },
      async isShared() {
        const [row] = await reader.all(sessions, [])
        return Number(row?.n) > pool.status.open + feed.sessions + (lease === undefined ? 0 : 1)
      },
      isSole: () => lease?.isSole() === true,
      isBeside: () => lease === undefined && options.lease.mode === 'try',
    },
    async check(given) {
      const lease = await pool.acquire({ signal: given })
      const cut = (): void => lease.session.destroy()
      given.addEventListener('abort', cut)
      try {
        const [result] = await send(lease.session, [{ statement: probe, params: [] }])
        if (result?.rows.length !== 1) return false
        if (result.rows[0]?.readonly !== 'on') return true
        pool.retireReadOnly(lease.session)
        throw new Error('the session is read-only')
      } catch (error) {
        throw DatabaseUnavailable().with({ cause: error })
      } finally {
        given.removeEventListener('abort', cut)
        lease.release()
      }
    },
    isInPlace: () => true,
    isOutgrown: () => schema?.isOutgrown === true,
    mayAnswer: () => lease === undefined || lease.isValid(),
    isFollowing: feed.isFollowing,
    async close() {
      await schema?.stop()
      options.feed.close()
      await feed.stop()
      await (await orm?.catch(() => undefined))?.close(true)
      await pool.close(CLOSE_MS)
      await lease?.release()
    },
  }
}
