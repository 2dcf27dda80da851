/**
 * Transactions that ran no statement with a result are lists of statements: those that wait share one transaction, one
 * round trip and one COMMIT. If a statement fails, all are rolled back, and each runs by itself.
 */
import { isServerError } from '../../../kernel/index.ts'
import type { BeforeCommitWork } from '../before-commit-work.ts'
import type { Publication } from '../feed/publication.ts'
import type { AsynchronouslyCommitted } from './commit-queue.ts'
import { PoolExhausted } from './errors.ts'
import { isRefusal, isRetryable, isUnfit } from './failure.ts'
import { MAX_BYTES, MAX_STEPS } from './held-statements.ts'
import type { Lease } from './loan.ts'
import type { OpenTransaction } from './open-transaction.ts'
import type { PendingWrites } from './pending-writes.ts'
import type { Pool } from './pool.ts'
import type { BoundStatement } from './statement-group.ts'

const SLOW_MS = 50 // milliseconds; a group commit that takes longer no longer keeps others waiting

export interface GroupCommit {
  /** Resolves when it is committed. Throws RolledBackByGroup when it has to run by itself. */
  commit(writes: PendingWrites, beforeCommitWork: BeforeCommitWork, isAsynchronous: boolean): Promise<void>
  readonly waiting: number
}

/** The group was rolled back, and it is not known which member caused it. */
export class RolledBackByGroup extends Error {}

export interface GroupCommitOptions {
  readonly pool: Pool
  /** Transactions that may wait; the next one is refused at once. */
  readonly queue: number
  /** Commits under way at the same time. */
  readonly concurrency: number
  /** Whether later group commits wait for a slow one. */
  readonly inOrder: boolean
  /** A transaction that begins with these statements, and publishes this. */
  readonly open: (
    lease: Lease,
    steps: readonly BoundStatement[],
    publications: readonly Publication[],
  ) => OpenTransaction
  /** Commits the transaction that `take` returns when it is at the front; `isAsynchronous` is called after that. */
  readonly finish: (
    take: () => OpenTransaction,
    isAsynchronous: () => boolean,
  ) => Promise<AsynchronouslyCommitted | undefined>
  /** After each COMMIT. */
  readonly committed: (transactions: number) => void
}

interface GroupMember {
  readonly writes: PendingWrites
  readonly beforeCommitWork: BeforeCommitWork
  readonly isAsynchronous: boolean
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** The same lease without `release`: the owner releases it. */
const kept = (lease: Lease): Lease => ({ ...lease, release: () => undefined })

export const createPostgresGroupCommit = (options: GroupCommitOptions): GroupCommit => {
  const { pool, queue, concurrency, inOrder, open, finish, committed } = options
  const waiting: GroupMember[] = []
  let busy = 0
  let isScheduled = false

  /**
   * The first transactions that wait, as many as fit in one group; leaves a share for other group commits that may
   * start.
   */
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
  /** `isInDoubt`: nobody knows whether they are committed. */
  const fail = (members: readonly GroupMember[], error: unknown, isInDoubt: boolean): void => {
    for (const { writes, reject } of members) {
      if (isInDoubt) writes.ending.isInDoubt = true
      reject(error)
    }
  }
  const settle = async (
    members: readonly GroupMember[],
    durable: AsynchronouslyCommitted | undefined,
  ): Promise<void> => {
    try {
      await durable?.committed
      for (const { resolve } of members) resolve()
    } catch (error) {
      fail(members, error, true)
    }
  }
  /** `again`: the members of a group that failed because of a conflict, such as a deadlock, and is retried. */
  const commitSome = async (lease: Lease, again?: readonly GroupMember[]): Promise<void> => {
    let members = again ?? []
    let opened: OpenTransaction | undefined
    const take = (): OpenTransaction => {
      if (again === undefined) members = takeMembers()
      opened = open(
        kept(lease),
        members.flatMap(({ writes }) => writes.steps),
        members.flatMap(({ writes }) => writes.published),
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
      fail(members, isRefusal(failure) ? new RolledBackByGroup() : error, opened?.ending.isInDoubt === true)
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
        // After too long a wait only transactions that waited from the beginning are refused, and not later ones.
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
        // Waits for one turn of the event loop, so that requests that have already arrived can join.
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
