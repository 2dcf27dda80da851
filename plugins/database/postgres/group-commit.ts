/**
 * Transactions that asked nothing are statements only: those that wait share one transaction, one round trip and one
 * COMMIT. What fails in it undoes it for all; then each runs by itself.
 */
import { isServerError } from '../../../kernel/index.ts'
import type { BeforeCommitWork } from '../before-commit-work.ts'
import type { AsynchronouslyCommitted } from './commit-queue.ts'
import { PoolExhausted } from './errors.ts'
import type { BoundStatement } from './exchange.ts'
import { isRefusal, isRetryable, isUnfit } from './failure.ts'
import type { Lease } from './loan.ts'
import type { Pool } from './pool.ts'
import { MAX_BYTES, MAX_STEPS, type OpenTransaction, type Writes } from './transaction.ts'

const SLOW_MS = 50 // what takes longer is overtaken

export interface GroupCommit {
  /** Resolves when it is committed. Throws Undone when it has to run by itself. */
  commit(writes: Writes, beforeCommitWork: BeforeCommitWork, isAsynchronous: boolean): Promise<void>
  readonly waiting: number
}

/** Nothing was committed, and whose fault that is nobody knows. */
export class RolledBackByGroup extends Error {}

export interface GroupCommitOptions {
  readonly pool: Pool
  /** Transactions that may wait; the next one is refused at once. */
  readonly queue: number
  /** Commits under way at the same time. */
  readonly concurrency: number
  /** Whether one that is slow keeps others waiting. */
  readonly inOrder: boolean
  /** A transaction that begins with these statements. */
  readonly open: (lease: Lease, steps: readonly BoundStatement[]) => OpenTransaction
  /** Commits what `take` gives when it is its turn; `isAsynchronous` is asked after that. */
  readonly finish: (
    take: () => OpenTransaction,
    isAsynchronous: () => boolean,
  ) => Promise<AsynchronouslyCommitted | undefined>
  /** After each COMMIT. */
  readonly committed: (transactions: number) => void
}

interface GroupMember {
  readonly writes: Writes
  readonly beforeCommitWork: BeforeCommitWork
  readonly isAsynchronous: boolean
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Whoever has the session lent gives it back himself. */
const kept = (lease: Lease): Lease => ({ ...lease, release: () => undefined })

export const createPostgresGroupCommit = (options: GroupCommitOptions): GroupCommit => {
  const { pool, queue, concurrency, inOrder, open, finish, committed } = options
  const waiting: GroupMember[] = []
  let busy = 0
  let isScheduled = false

  /** Those that come first, as many as fit, but for what the other lanes may take. */
  const takeMembers = (): readonly GroupMember[] => {
    const most = Math.ceil(waiting.length / Math.max(1, concurrency - busy + 1))
    let steps = 0
    let bytes = 0
    let count = 0
    for (const { writes } of waiting) {
      steps += writes.steps.length
      bytes += writes.bytes
      if (count > 0 && (count >= most || steps > MAX_STEPS || bytes > MAX_BYTES)) break
      count += 1
    }
    return waiting.splice(0, count)
  }
  const settle = async (
    members: readonly GroupMember[],
    durable: AsynchronouslyCommitted | undefined,
  ): Promise<void> => {
    try {
      await durable?.committed
      for (const { resolve } of members) resolve()
    } catch (error) {
      for (const { reject } of members) reject(error)
    }
  }
  /** `again`: those of a transaction that another one was in the way of. */
  const commitSome = async (lease: Lease, again?: readonly GroupMember[]): Promise<void> => {
    let members = again ?? []
    let opened: OpenTransaction | undefined
    const take = (): OpenTransaction => {
      if (again === undefined) members = takeMembers()
      opened = open(
        kept(lease),
        members.flatMap(({ writes }) => writes.steps),
      )
      for (const { beforeCommitWork } of members) opened.beforeCommitWork.take(beforeCommitWork)
      return opened
    }
    try {
      const durable = await finish(take, () => members.every(({ isAsynchronous }) => isAsynchronous))
      committed(members.length)
      void settle(members, durable)
    } catch (error) {
      await opened?.rollback()
      const failure = opened?.failure
      if (again === undefined && !isUnfit(failure) && isRetryable(failure, 1)) return commitSome(lease, members)
      for (const { reject } of members) reject(isRefusal(failure) ? new RolledBackByGroup() : error)
    }
  }

  const runLane = async (): Promise<void> => {
    busy += 1
    let isCounted = true
    const leave = (): void => {
      if (isCounted) busy -= 1
      isCounted = false
    }
    while (waiting.length > 0 && isCounted) {
      const known = waiting.length
      let lease: Lease
      try {
        lease = pool.tryAcquire({ long: true }) ?? (await pool.acquire({ long: true }))
      } catch (error) {
        // Refused for having waited too long: those that came later have not.
        const isLate = isServerError(error) && error.key === PoolExhausted.key
        for (const { reject } of waiting.splice(0, isLate ? known : waiting.length)) reject(error)
        continue
      }
      const overtake = (): void => {
        leave()
        pump()
      }
      const slow = inOrder ? undefined : setTimeout(overtake, SLOW_MS)
      await commitSome(lease)
      clearTimeout(slow)
      lease.release()
    }
    leave()
    pump()
  }
  const pump = (): void => {
    for (let most = Math.min(concurrency - busy, waiting.length); most > 0; most -= 1) void runLane()
  }

  return {
    commit: (writes, beforeCommitWork, isAsynchronous) =>
      new Promise((resolve, reject) => {
        if (waiting.length >= queue) return reject(PoolExhausted())
        waiting.push({ writes, beforeCommitWork, isAsynchronous, resolve, reject })
        if (busy >= concurrency || isScheduled) return
        isScheduled = true
        // One turn of the event loop, so that every request that has already arrived joins.
        setImmediate(() => {
          isScheduled = false
          pump()
        })
      }),
    get waiting() {
      return waiting.length
    },
  }
}
