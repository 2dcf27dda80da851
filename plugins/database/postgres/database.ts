/** The Database service on PostgreSQL: a pool of sessions, each statement prepared once, writes in few round trips. */
import type { MikroORM } from '@mikro-orm/core'
import { type Sql, type SqlParam, sql } from '../contract.ts'
import { DatabaseUnavailable } from '../errors.ts'
import type { Opened, OpenOptions } from '../opening.ts'
import { changesOf } from '../schema.ts'
import { createAlone } from './alone.ts'
import { type Connector, createConnector } from './client.ts'
import { parseConninfo } from './conninfo.ts'
import { inspectServer } from './inspect.ts'
import type { Lease } from './loan.ts'
import { createLongQuery } from './long-query.ts'
import { createPool } from './pool.ts'
import { createPostgresReader } from './reader.ts'
import { createGroupRunner } from './run-group.ts'
import { migrate } from './schema.ts'
import type { Session, SessionLimits } from './session.ts'
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

const probe = sql('probe', "SELECT current_setting('transaction_read_only') AS readonly")
// backend_type is null for sessions of other roles.
const sessions = sql(
  'sessions',
  "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND coalesce(backend_type, 'client backend') = 'client backend'",
)

/** Runs `use` on a new session, and closes it in any case. */
const withSession = async <T>(
  connector: Connector,
  signal: AbortSignal | undefined,
  use: (session: Session) => Promise<T>,
) => {
  const session = await connector.connect(signal)
  try {
    return await use(session)
  } finally {
    void session.end()
  }
}

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
  const facts = await withSession(connectorWith(MIGRATION_LIMITS), signal, async (session) => {
    const found = await inspectServer(session, log)
    await migrate(session, found.database, options)
    return found
  })

  const connector = connectorWith({ ...LIMITS, synchronousCommit: facts.asynchronous })
  const now = (): number => clock.monotonic()
  const pool = createPool({ connector, size: options.pool ?? SESSIONS, queue: QUEUE, waitMs: WAIT_MS, log, now })
  const reader = createPostgresReader({ pool, queue: QUEUE, answerMs: ANSWER_MS })
  const send = createGroupRunner({ connector, pool })
  const slow = createLongQuery({ pool, connector, send })
  const transactions = createTransactions({ pool, send, now, queue: QUEUE })
  let orm: Promise<MikroORM> | undefined

  const openOrm = async (): Promise<MikroORM> => {
    const { openPostgresOrm } = await import('./orm.ts')
    const loans = new Map<Session, Lease>()
    const source = {
      async acquire() {
        const lease = await pool.acquire({ long: true })
        loans.set(lease.session, lease)
        return lease.session
      },
      release(session: Session) {
        loans.get(session)?.release()
        loans.delete(session)
      },
    }
    const entities = await options.entities()
    return openPostgresOrm(source, facts.database, { entities, changes: changesOf(plugins), kind: 'postgres' })
  }

  return {
    database: {
      kind: 'postgres',
      get: async <R>(statement: Sql, params: readonly SqlParam[]) =>
        (await reader.all(statement, params))[0] as R | undefined,
      all: (statement, params) => reader.all(statement, params) as Promise<any[]>,
      longQuery: (statement, params, signal) => slow(statement, params, signal) as Promise<any[]>,
      threadReaderLocation: () => undefined,
      transact: transactions.transact,
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
        }
      },
      async isShared() {
        const [row] = await reader.all(sessions, [])
        return Number(row?.n) > pool.status.open
      },
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
    async close() {
      await (await orm?.catch(() => undefined))?.close(true)
      await pool.close(CLOSE_MS)
    },
  }
}
