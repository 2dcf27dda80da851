/**
 * Transactions that left something for their end come to it one after the other, whatever order their sessions are in.
 * Waiting for the disk in that line would make one commit per turn of the disk: those with somebody behind them commit
 * without waiting for it, and are answered when a later one, who did wait, has come back. Its part of the log lies
 * behind theirs, so theirs is on disk as well.
 * https://www.postgresql.org/docs/17/wal-async-commit.html
 *
 * Resources are taken in one order: turn among those that want the same lock (`turns.ts`), session of the pool, advisory
 * and row locks, turn in this line, audit head. Whoever joins the line
 * has its session: `close` calls `secure` first, and a shared commit joins with the session of its lane. So the
 * transaction whose turn it is waits only for answers of PostgreSQL, and none of them waits for a session of this
 * process. One exception has a bound: a shared commit sends its statements when it is its turn, and one of them may wait
 * for a row that a transaction behind it has locked. Its lock_timeout is 500 ms (`hurry`); then it is undone and its
 * members run alone, locks first. `harden` takes a session without a turn. Other processes hold the audit head only
 * between its update and COMMIT, with every row lock already taken. waits.test.ts tries the orders on a model.
 */
import { sql } from '../contract.ts'
import { CommitUnknown } from './errors.ts'
import { ConnectionLost } from './server-error.ts'
import type { OpenTransaction } from './transaction.ts'

const MAX_ASYNCHRONOUS = 16 // then one waits for the disk, though others are behind it
const ASYNCHRONOUS_MS = 5 // or when the first of them has waited this long

export const useAsynchronousCommit = sql('relax', "SELECT set_config('synchronous_commit', 'off', true)")

/** Committed, and not yet known to be on disk. An object, because a promise in a promise would be waited for. */
export interface AsynchronouslyCommitted {
  /** Rejects with CommitUnknown when nobody could tell. */
  readonly committed: Promise<void>
}

interface Waiting {
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

export interface CommitQueue {
  /** Closes and commits when it is its turn. Undefined when it is on disk, or need not be: `mayWait`. */
  commit(open: OpenTransaction, mayWait: boolean): Promise<AsynchronouslyCommitted | undefined>
  /** The same with what `take` gives when it is its turn; `mayWait` is asked after that. */
  commitNext(take: () => OpenTransaction, mayWait: () => boolean): Promise<AsynchronouslyCommitted | undefined>
}

export interface CommitQueueOptions {
  /** Milliseconds on a clock that never goes back. */
  readonly now: () => number
  /** Resolves when everything committed before is on disk. */
  readonly flush: () => Promise<void>
}

export const createCommitQueue = ({ now, flush }: CommitQueueOptions): CommitQueue => {
  let tail: Promise<void> = Promise.resolve()
  let behind = 0
  let relaxed: Waiting[] = []
  let since = 0

  const settle = (batch: readonly Waiting[]): void => {
    for (const { resolve } of batch) resolve()
  }
  const hardenAll = (): void => {
    const batch = relaxed
    relaxed = []
    flush().then(
      () => settle(batch),
      (error) => {
        const unknown = CommitUnknown().with({ cause: error })
        for (const { reject } of batch) reject(unknown)
      },
    )
  }
  const commit = async ({ beforeCommitWork, transaction, commit: send }: OpenTransaction, isAsynchronous: boolean) => {
    try {
      if (isAsynchronous) await transaction.run(useAsynchronousCommit, [])
      await beforeCommitWork.run(transaction)
      await send()
    } catch (error) {
      beforeCommitWork.finished(false)
      throw error instanceof ConnectionLost ? error : beforeCommitWork.refuse(error)
    }
    beforeCommitWork.finished(true)
  }

  const commitNext: CommitQueue['commitNext'] = async (take, mayWait) => {
    behind += 1
    const before = tail
    const { promise, resolve: leaveLine } = Promise.withResolvers<void>()
    tail = promise
    await before
    behind -= 1
    try {
      const open = take()
      const needNot = mayWait()
      const isAsynchronous =
        needNot ||
        (behind > 0 && relaxed.length < MAX_ASYNCHRONOUS && (relaxed.length === 0 || now() - since < ASYNCHRONOUS_MS))
      await commit(open, isAsynchronous)
      if (needNot) return undefined
      if (!isAsynchronous) {
        settle(relaxed)
        relaxed = []
        return undefined
      }
      if (relaxed.length === 0) since = now()
      const { promise: committed, resolve, reject } = Promise.withResolvers<void>()
      committed.catch(() => undefined) // heard by whoever waits for it, a moment later
      relaxed.push({ resolve, reject })
      return { committed }
    } finally {
      // Nobody is left whose COMMIT would vouch for them.
      if (behind === 0 && relaxed.length > 0) hardenAll()
      leaveLine()
    }
  }

  return {
    async commit(open, mayWait) {
      // A session and row locks may be held by transactions that wait in this line: both are taken before joining it.
      await open.secure()
      return commitNext(
        () => open,
        () => mayWait,
      )
    },
    commitNext,
  }
}
