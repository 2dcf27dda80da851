/** The Database service on PostgreSQL: a pool of sessions, each statement prepared once, writes in few round trips. */
import type { MikroORM } from '@mikro-orm/core'
import { DatabaseUnavailable } from '../errors.ts'
import type { Opened, OpenOptions } from '../open.ts'
import { changesOf } from '../schema.ts'
import { type Database, type Eventually, type Param, type Sql, sql, type Transaction } from '../service.ts'
import { type Connector, createConnector } from './client.ts'
import { createClosingLine, type Relaxed, relax } from './closing-line.ts'
import { parseConninfo } from './conninfo.ts'
import { fromPostgres, isRefusal, mayGoThrough } from './failure.ts'
import { inspectServer } from './inspect.ts'
import { createPool, type Loan } from './pool.ts'
import { createReader } from './reader.ts'
import { migrate } from './schema.ts'
import { createSender } from './send.ts'
import type { Session, SessionLimits } from './session.ts'
import { createSharedCommits, Undone } from './shared-commits.ts'
import { createSlow } from './slow.ts'
import { createTlsFiles } from './tls-files.ts'
import { openTransaction } from './transaction.ts'

const SESSIONS = 8 // spec: default db_pool for postgres
const QUEUE = 2_000 // requests that may wait for a session
const WAIT_MS = 4_000 // for a session
const ANSWER_MS = 4_000 // a small read; then its session is given up
const CLOSE_MS = 5_000
const LANES = 2 // shared COMMITs under way: while one waits for the disk, the other is at work
const LIMITS: SessionLimits = { statementTimeoutMs: 0, lockTimeoutMs: 3_000, idleInTransactionMs: 5_000 }
// A migration waits for the readers of the old schema, and servers that start together for the one that migrates.
const MIGRATION_LIMITS: SessionLimits = { ...LIMITS, lockTimeoutMs: 60_000, idleInTransactionMs: 60_000 }

// Whoever shares a COMMIT at the end of the line must not wait long for a row that somebody behind him has locked.
const hurry = sql('hurry', "SELECT set_config('lock_timeout', '500ms', true)")
const probe = sql('probe', 'SELECT 1 AS one')
// A transaction that wrote something, so that its COMMIT waits for all of the log before it.
const mark = sql('mark', "SELECT pg_logical_emit_message(true, 'refhir', '') AS place")
// Of sessions of other roles the kind is not told.
const sessions = sql(
  'sessions',
  "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND coalesce(backend_type, 'client backend') = 'client backend'",
)

type Attempt<T> =
  | { readonly value: T; readonly durable: Relaxed | undefined }
  /** `isAlone`: it has to run without others, and asking what it took for granted. */
  | { readonly failure: unknown; readonly error: unknown; readonly isAlone: boolean }

/** The session is closed in the end, whatever happens. */
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
  const pool = createPool({ connector, size: options.pool ?? SESSIONS, queue: QUEUE, waitMs: WAIT_MS, log })
  const reader = createReader({ pool, queue: QUEUE, answerMs: ANSWER_MS })
  const send = createSender({ connector, pool })
  const slow = createSlow({ pool, connector, send })
  const counters = { transactions: 0, groups: 0 }
  const line = createClosingLine({
    now: () => clock.monotonic(),
    async harden() {
      const loan = await pool.acquire({ long: true })
      try {
        await send(loan.session, [{ statement: mark, params: [] }])
      } finally {
        loan.release()
      }
    },
  })
  let orm: Promise<MikroORM> | undefined

  const lend = (): Loan | Promise<Loan> => pool.take({ long: true }) ?? pool.acquire({ long: true })
  const committed = (transactions: number): void => {
    counters.transactions += transactions
    counters.groups += 1
  }
  const shared = createSharedCommits({
    pool,
    queue: QUEUE,
    lanes: LANES,
    inOrder: false,
    open: (loan, steps) => openTransaction({ lend: () => loan, send, steps }),
    async finish(take, isRelaxed) {
      const open = take()
      if (isRelaxed()) await open.transaction.run(relax, [])
      await open.commit()
      return undefined
    },
    committed,
  })
  // The line is one by one, so whoever is in it takes along all that wait.
  const sharedClosings = createSharedCommits({
    pool,
    queue: QUEUE,
    lanes: 1,
    inOrder: true,
    open: (loan, steps) =>
      openTransaction({ lend: () => loan, send, steps: [{ statement: hurry, params: [] }, ...steps] }),
    finish: line.closeNext,
    committed,
  })

  /** `mayShare`: not when sharing a COMMIT with others has just failed. */
  const attempt = async <T>(
    work: (transaction: Transaction) => Eventually<T>,
    mayWait: boolean,
    mayShare: boolean,
  ): Promise<Attempt<T>> => {
    const open = openTransaction({ lend, send, presumes: mayShare })
    const { leavings } = open
    let isDone = false
    try {
      const value = await work(open.transaction)
      isDone = true
      const writes = mayShare ? open.giveWrites() : undefined
      if (writes !== undefined) {
        if (leavings.isEmpty && writes.steps.length === 0) return { value, durable: undefined }
        await (leavings.isEmpty ? shared : sharedClosings).commit(writes, leavings, mayWait)
        return { value, durable: undefined }
      }
      let durable: Relaxed | undefined
      if (!leavings.isEmpty) durable = await line.close(open, mayWait)
      else {
        if (mayWait) await open.transaction.run(relax, [])
        await open.commit()
      }
      committed(1)
      open.release()
      return { value, durable }
    } catch (error) {
      await open.rollback()
      const { failure, presumed } = open
      // What was thrown by whoever presumed wrongly may not be all there is to say.
      const isMistaken = presumed && (failure === undefined ? !isDone : isRefusal(failure))
      return { failure, error, isAlone: error instanceof Undone || isMistaken }
    }
  }
  const transact: Database['transact'] = async (work, { relaxed = false } = {}) => {
    let mayShare = true
    for (let count = 1; ; ) {
      const outcome = await attempt(work, relaxed, mayShare)
      if ('value' in outcome) {
        if (outcome.durable !== undefined) await outcome.durable.committed
        return outcome.value
      }
      if (!(mayShare && outcome.isAlone)) {
        if (!mayGoThrough(outcome.failure, count)) throw fromPostgres(outcome.error)
        count += 1
      }
      mayShare = false
    }
  }

  const openOrm = async (): Promise<MikroORM> => {
    const { openPostgresOrm } = await import('./orm.ts')
    const loans = new Map<Session, Loan>()
    const source = {
      async acquire() {
        const loan = await pool.acquire({ long: true })
        loans.set(loan.session, loan)
        return loan.session
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
      get: async <R>(statement: Sql, params: readonly Param[]) =>
        (await reader.all(statement, params))[0] as R | undefined,
      all: (statement, params) => reader.all(statement, params) as Promise<any[]>,
      slow: (statement, params, signal) => slow(statement, params, signal) as Promise<any[]>,
      place: () => undefined,
      transact,
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
            waiting: waiting + reader.waiting + shared.waiting + sharedClosings.waiting,
          },
          // PostgreSQL lets COMMITs share a flush besides, and does not say so.
          commits: { ...counters },
        }
      },
      async isShared() {
        const [row] = await reader.all(sessions, [])
        return Number(row?.n) > pool.status.open
      },
    },
    async check(given) {
      const loan = await pool.acquire({ signal: given })
      const cut = (): void => loan.session.destroy()
      given.addEventListener('abort', cut)
      try {
        const [result] = await send(loan.session, [{ statement: probe, params: [] }])
        return result?.rows.length === 1
      } catch (error) {
        throw DatabaseUnavailable().with({ cause: error })
      } finally {
        given.removeEventListener('abort', cut)
        loan.release()
      }
    },
    async close() {
      await (await orm?.catch(() => undefined))?.close(true)
      await pool.close(CLOSE_MS)
    },
  }
}
