/**
 * Commits transactions with commit participants one after the other, whatever order their sessions are in. If each
 * waited for the disk in this queue, there would be one commit per flush. So a transaction that has others behind it
 * commits without waiting for the disk, and its caller is answered after a later one has committed and waited: the WAL
 * of that one lies behind, so the earlier ones are on disk as well.
 * https://www.postgresql.org/docs/17/wal-async-commit.html
 *
 * Resources are taken in one order: the turn among transactions of this process that want the same lock (`turns.ts`), a
 * session of the pool, advisory and row locks, a place in this queue, the head of the audit trail. A transaction has
 * its session before it joins: `commit` calls `secure` first, and a group commit joins with its session. So the
 * transaction at the front waits only for answers of PostgreSQL, and none waits for a session of this process. One
 * exception has a time limit: a group commit sends its statements when it is at the front, and one of them may wait for
 * a row that a transaction behind it has locked. Its lock_timeout is 500 ms (`hurry`); then it is rolled back and its
 * members run one by one, and take their locks first. `flush` takes a session without a turn. Other processes hold the
 * audit head only between its update and COMMIT, with every row lock already taken. waits.test.ts tries the orders on a
 * model.
 */
import { CommitUnknown } from './errors.ts'
import type { OpenTransaction } from './open-transaction.ts'
import { ConnectionLost } from './server-error.ts'

// asynchronous commits in a row; the next one waits for the disk, even with others behind it
const MAX_ASYNCHRONOUS = 16
const ASYNCHRONOUS_MS = 5 // milliseconds that the first of them may have waited; then the next one waits for the disk

/**
 * Committed, but not known to be on disk. An object, because a promise that resolves with a promise would wait for it.
 */
export interface AsynchronouslyCommitted {
  /** Resolves when it is on disk. Rejects with CommitUnknown when that cannot be found out. */
  readonly committed: Promise<void>
}

interface Waiting {
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

export interface CommitQueue {
  /**
   * Runs `beforeCommit` of the participants and commits, when it is at the front. Undefined when it is on disk, or when
   * `mayWait` says that it need not be.
   */
  commit(open: OpenTransaction, mayWait: boolean): Promise<AsynchronouslyCommitted | undefined>
  /** The same for the transaction that `take` returns when it is at the front; `mayWait` is called after that. */
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
  const commit = async (open: OpenTransaction, isAsynchronous: boolean) => {
    const { beforeCommitWork } = open
    try {
      if (isAsynchronous) open.relax()
      await beforeCommitWork.run(open.transaction)
      await open.commit()
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
      const needNot = mayWait() && !open.publishes
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
      committed.catch(() => undefined) // the rejection is handled by the caller that awaits it later
      relaxed.push({ resolve, reject })
      return { committed }
    } finally {
      // No transaction follows whose COMMIT would flush theirs.
      if (behind === 0 && relaxed.length > 0) hardenAll()
      leaveLine()
    }
  }

  return {
    async commit(open, mayWait) {
      // Takes the session and row locks before joining the queue: transactions in the queue may hold those that it
      // needs.
      await open.secure()
      return commitNext(
        () => open,
        () => mayWait,
      )
    },
    commitNext,
  }
}
