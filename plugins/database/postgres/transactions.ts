/**
 * Runs transactions on sessions of a pool. Transactions that need no result before COMMIT are combined into one
 * transaction of the database. Those that registered work with `beforeCommit` are committed one after the other in this
 * process.
 */
import { type Database, type MaybePromise, sql, type Transaction } from '../contract.ts'
import { type AsynchronouslyCommitted, createCommitQueue } from './commit-queue.ts'
import type { Ending } from './ending.ts'
import { fromPostgres, isReadOnly, isRefusal, isRetryable, kindOfFailure, saysOutdated } from './failure.ts'
import type { Fence } from './fence.ts'
import { createPostgresGroupCommit, type GroupCommit, RolledBackByGroup } from './group-commit.ts'
import type { Lease } from './loan.ts'
import { openTransaction } from './open-transaction.ts'
import type { Pool } from './pool.ts'
import type { RunGroup } from './run-group.ts'
import { createTurns } from './turns.ts'

const TURN_MS = 3_000 // milliseconds, as long as lock_timeout
const LANES = 2 // group commits at a time: while one waits for the disk, the other one works

// A group commit in the commit queue must not wait long for a row that a transaction behind it has locked.
const hurry = sql('hurry', "SELECT set_config('lock_timeout', '500ms', true)")
// Writes a WAL record, so that the COMMIT of this transaction flushes all of the WAL before it.
const mark = sql('mark', "SELECT pg_logical_emit_message(true, 'refhir', '') AS place")

type Attempt<T> =
  | {
      readonly value: T
      readonly durable: AsynchronouslyCommitted | undefined
      /** To be notified once it is on disk, and where that cannot be found out. */
      readonly ending: Ending
      /** To be called after that, where it is committed. */
      readonly listeners: readonly (() => void)[]
    }
  /** `isAlone`: the retry must not share a COMMIT, and has to query what it asserted. */
  | { readonly failure: unknown; readonly error: unknown; readonly isAlone: boolean }

export interface Transactions {
  readonly transact: Database['transact']
  /** Transactions committed, and the commits they shared. */
  readonly counters: { readonly transactions: number; readonly groups: number }
  /** Those that wait for a shared COMMIT. */
  readonly waiting: number
}

export interface TransactionsParts {
  readonly pool: Pool
  readonly send: RunGroup
  /** Milliseconds on a clock that never goes back. */
  readonly now: () => number
  /** Transactions that may wait for a shared COMMIT; the next one is refused at once. */
  readonly queue: number
  /** Milliseconds that a transaction waits for others of this process that want the same lock. */
  readonly turnMs?: number
  /** Of the writer lease; without it, commits are not checked. */
  readonly fence?: Fence | undefined
}

/** Transactions without work before COMMIT share COMMITs in lanes, in no order. */
const createLanes = (
  { pool, send, queue }: TransactionsParts,
  fence: Fence | undefined,
  committed: (transactions: number) => void,
): GroupCommit =>
  createPostgresGroupCommit({
    pool,
    queue,
    concurrency: LANES,
    inOrder: false,
    open: (lease, steps, publications) => openTransaction({ acquire: () => lease, send, steps, publications, fence }),
    async finish(take, isAsynchronous) {
      const open = take()
      if (isAsynchronous() && !open.publishes) open.relax()
      await open.commit()
      return undefined
    },
    committed,
  })

/** Resolves when everything committed before is on disk. */
const createFlush =
  ({ pool, send, fence }: TransactionsParts) =>
  async (): Promise<void> => {
    const lease = await pool.acquire({ long: true })
    const flushed = fence?.flushing()
    try {
      await send(lease.session, [{ statement: mark, params: [] }])
      flushed?.()
    } finally {
      lease.release()
    }
  }

export const createTransactions = (parts: TransactionsParts): Transactions => {
  const { pool, send, now, queue, turnMs = TURN_MS, fence } = parts
  const turns = createTurns(turnMs)
  const counters = { transactions: 0, groups: 0 }
  const line = createCommitQueue({ now, flush: createFlush(parts) })
  const acquire = (): Lease | Promise<Lease> => pool.tryAcquire({ long: true }) ?? pool.acquire({ long: true })
  const committed = (transactions: number): void => {
    counters.transactions += transactions
    counters.groups += 1
  }
  const shared = createLanes(parts, fence, committed)
  const unfenced = createLanes(parts, undefined, committed)
  // Commits in the queue go one by one, so a group commit at its front takes all transactions that wait.
  const sharedClosings = createPostgresGroupCommit({
    pool,
    queue,
    concurrency: 1,
    inOrder: true,
    open: (lease, steps, publications) =>
      openTransaction({
        acquire: () => lease,
        send,
        fence,
        steps: [{ statement: hurry, params: [] }, ...steps],
        publications,
      }),
    finish: line.commitNext,
    committed,
  })

  /** `mayShare` is false after sharing a COMMIT has failed. */
  const attempt = async <T>(
    work: (transaction: Transaction) => MaybePromise<T>,
    mayWait: boolean,
    mayShare: boolean,
    isShared: boolean,
  ): Promise<Attempt<T>> => {
    const open = openTransaction({
      acquire,
      send,
      turns,
      assertsOptimistically: mayShare,
      fence: isShared ? undefined : fence,
    })
    const { beforeCommitWork, listeners, ending } = open
    let isDone = false
    try {
      const value = await work(open.transaction)
      isDone = true
      const writes = mayShare ? open.takePendingWrites() : undefined
      if (writes !== undefined) {
        if (beforeCommitWork.isEmpty && writes.steps.length === 0)
          return { value, durable: undefined, listeners, ending }
        await (!beforeCommitWork.isEmpty ? sharedClosings : isShared ? unfenced : shared).commit(
          writes,
          beforeCommitWork,
          mayWait,
        )
        return { value, durable: undefined, listeners, ending }
      }
      let durable: AsynchronouslyCommitted | undefined
      if (!beforeCommitWork.isEmpty) durable = await line.commit(open, mayWait)
      else {
        if (mayWait && !open.publishes) open.relax()
        await open.commit()
      }
      committed(1)
      open.release()
      return { value, durable, listeners, ending }
    } catch (error) {
      await open.rollback()
      ending.notify(ending.isInDoubt ? 'unknown' : 'undone')
      const { failure, hasAssertion } = open
      // An error that `work` threw after a wrong assertion may be a consequence of it, so `work` runs again.
      const isMistaken = hasAssertion && (failure === undefined ? !isDone : isRefusal(failure))
      return { failure, error, isAlone: error instanceof RolledBackByGroup || isMistaken }
    }
  }
  const transact: Database['transact'] = async (
    work,
    { asynchronousCommit = false, shared: isShared = false } = {},
  ) => {
    let mayShare = true
    /** How often it failed, by kind of failure. */
    const failed = new Map<string, number>()
    for (;;) {
      const outcome = await attempt(work, asynchronousCommit, mayShare, isShared)
      if ('value' in outcome) {
        try {
          if (outcome.durable !== undefined) await outcome.durable.committed
        } catch (error) {
          outcome.ending.notify('unknown')
          throw error
        }
        outcome.ending.notify('committed')
        for (const listener of outcome.listeners) listener()
        return outcome.value
      }
      if (!(mayShare && outcome.isAlone)) {
        const kind = kindOfFailure(outcome.failure)
        const count = (failed.get(kind) ?? 0) + 1
        // Not `error`: a participant may have replaced it with a refusal of its own.
        if (saysOutdated(outcome.failure)) throw fromPostgres(outcome.failure)
        if (!isRetryable(outcome.failure, count)) throw fromPostgres(outcome.error)
        failed.set(kind, count)
        // On a session of the same age it would fail again.
        if (isReadOnly(outcome.failure)) await pool.retiring
      }
      mayShare = false
    }
  }

  return {
    transact,
    counters,
    get waiting() {
      return shared.waiting + unfenced.waiting + sharedClosings.waiting
    },
  }
}
