/**
 * Notes the transactions that may still store versions, so that a time can be named up to which all versions are known.
 * Only on PostgreSQL, where transactions commit in another order than that of their version times.
 */
import type { Clock } from '../../kernel/index.ts'
import type { Database, MaybePromise, Transaction, TransactOptions } from '../database/service.ts'

const WAIT_MS = 1_000 // for transactions that are open

export interface OpenWrites {
  /** The database, with each of its transactions noted while it is open. */
  watch(database: Database): Database
  /** Resolves when the transactions that are open now have ended, at most after a second. */
  settle(): Promise<void>
  /** A version time that is smaller than those of all open transactions; undefined when none is open. */
  readonly oldest: number | undefined
}

/** Stands for a transaction. */
type Key = Record<string, never>

/** `nextTime` gives a version time that is larger than all before. */
export const createOpenWrites = (nextTime: () => number, clock: Clock): OpenWrites => {
  const open = new Map<Key, number>()
  const waiting = new Set<() => void>()
  const watch = (database: Database): Database => {
    if (database.kind !== 'postgres') return database
    const transact = <T>(
      work: (transaction: Transaction) => MaybePromise<T>,
      options?: TransactOptions,
    ): Promise<T> => {
      const key: Key = {}
      const done = database.transact((transaction) => {
        // Its versions get later times. When it runs again, the first time is still a bound.
        if (!open.has(key)) open.set(key, nextTime())
        return work(transaction)
      }, options)
      const end = (): void => {
        open.delete(key)
        if (waiting.size > 0) for (const notify of [...waiting]) notify()
      }
      done.then(end, end)
      return done
    }
    return Object.create(database, { transact: { value: transact, enumerable: true } })
  }
  return {
    watch,
    settle() {
      const before = [...open.keys()]
      const isSettled = (): boolean => !before.some((key) => open.has(key))
      if (isSettled()) return Promise.resolve()
      return new Promise<void>((resolve) => {
        const look = (): void => {
          if (isSettled()) end()
        }
        const end = (): void => {
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        clock.deadline(WAIT_MS).addEventListener('abort', end, { once: true })
      })
    },
    get oldest() {
      let least: number | undefined
      for (const time of open.values()) if (least === undefined || time < least) least = time
      return least
    },
  }
}
