/**
 * Transactions that asked nothing are statements only: those that wait share one transaction, one round trip and one
 * COMMIT. What fails in it undoes it for all; then each runs by itself.
 */
import { isServerError } from '../../../kernel/index.ts'
import type { Leavings } from '../leavings.ts'
import type { Relaxed } from './closing-line.ts'
import { PoolExhausted } from './errors.ts'
import type { Step } from './exchange.ts'
import { isRefusal, isUnfit, mayGoThrough } from './failure.ts'
import type { Loan } from './loan.ts'
import type { Pool } from './pool.ts'
import { MOST_BYTES, MOST_STEPS, type OpenTransaction, type Writes } from './transaction.ts'

const SLOW_MS = 50 // what takes longer is overtaken

export interface SharedCommits {
  /** Resolves when it is committed. Throws Undone when it has to run by itself. */
  commit(writes: Writes, leavings: Leavings, isRelaxed: boolean): Promise<void>
  readonly waiting: number
}

/** Nothing was committed, and whose fault that is nobody knows. */
export class Undone extends Error {}

export interface SharedCommitsOptions {
  readonly pool: Pool
  /** Transactions that may wait; the next one is refused at once. */
  readonly queue: number
  /** Commits under way at the same time. */
  readonly lanes: number
  /** Whether one that is slow keeps others waiting. */
  readonly inOrder: boolean
  /** A transaction that begins with these statements. */
  readonly open: (loan: Loan, steps: readonly Step[]) => OpenTransaction
  /** Commits what `take` gives when it is its turn; `isRelaxed` is asked after that. */
  readonly finish: (take: () => OpenTransaction, isRelaxed: () => boolean) => Promise<Relaxed | undefined>
  /** After each COMMIT. */
  readonly committed: (transactions: number) => void
}

interface Member {
  readonly writes: Writes
  readonly leavings: Leavings
  readonly isRelaxed: boolean
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Whoever has the session lent gives it back himself. */
const kept = (loan: Loan): Loan => ({ ...loan, release: () => undefined })

export const createSharedCommits = (options: SharedCommitsOptions): SharedCommits => {
  const { pool, queue, lanes, inOrder, open, finish, committed } = options
  const waiting: Member[] = []
  let busy = 0
  let isScheduled = false

  /** Those that come first, as many as fit, but for what the other lanes may take. */
  const takeMembers = (): readonly Member[] => {
    const most = Math.ceil(waiting.length / Math.max(1, lanes - busy + 1))
    let steps = 0
    let bytes = 0
    let count = 0
    for (const { writes } of waiting) {
      steps += writes.steps.length
      bytes += writes.bytes
      if (count > 0 && (count >= most || steps > MOST_STEPS || bytes > MOST_BYTES)) break
      count += 1
    }
    return waiting.splice(0, count)
  }
  const settle = async (members: readonly Member[], durable: Relaxed | undefined): Promise<void> => {
    try {
      await durable?.committed
      for (const { resolve } of members) resolve()
    } catch (error) {
      for (const { reject } of members) reject(error)
    }
  }
  /** `again`: those of a transaction that another one was in the way of. */
  const commitSome = async (loan: Loan, again?: readonly Member[]): Promise<void> => {
    let members = again ?? []
    let opened: OpenTransaction | undefined
    const take = (): OpenTransaction => {
      if (again === undefined) members = takeMembers()
      opened = open(
        kept(loan),
        members.flatMap(({ writes }) => writes.steps),
      )
      for (const { leavings } of members) opened.leavings.take(leavings)
      return opened
    }
    try {
      const durable = await finish(take, () => members.every(({ isRelaxed }) => isRelaxed))
      committed(members.length)
      void settle(members, durable)
    } catch (error) {
      await opened?.rollback()
      const failure = opened?.failure
      if (again === undefined && !isUnfit(failure) && mayGoThrough(failure, 1)) return commitSome(loan, members)
      for (const { reject } of members) reject(isRefusal(failure) ? new Undone() : error)
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
      let loan: Loan
      try {
        loan = pool.take({ long: true }) ?? (await pool.acquire({ long: true }))
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
      await commitSome(loan)
      clearTimeout(slow)
      loan.release()
    }
    leave()
    pump()
  }
  const pump = (): void => {
    for (let most = Math.min(lanes - busy, waiting.length); most > 0; most -= 1) void runLane()
  }

  return {
    commit: (writes, leavings, isRelaxed) =>
      new Promise((resolve, reject) => {
        if (waiting.length >= queue) return reject(PoolExhausted())
        waiting.push({ writes, leavings, isRelaxed, resolve, reject })
        if (busy >= lanes || isScheduled) return
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
