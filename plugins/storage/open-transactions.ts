/**
 * Which transactions are under way: on PostgreSQL several are, and one that began before something changed may write as
 * if it had not. SQLite has one writer, behind which everything waits anyway.
 */
import type { Database } from '../database/service.ts'

export interface OpenTransactions {
  /** The database, whose transactions are counted. */
  readonly database: Database
  /** Resolves when every transaction that is open now has ended. */
  whenDrained(): Promise<void>
}

export const trackTransactions = (database: Database): OpenTransactions => {
  if (database.kind !== 'postgres') return { database, whenDrained: async () => undefined }
  let open = new Set<Promise<unknown>>()
  const transact: Database['transact'] = (work, options) => {
    const own = open
    const done = database.transact(work, options)
    own.add(done)
    const forget = (): void => void own.delete(done)
    done.then(forget, forget)
    return done
  }
  return {
    database: Object.create(database, { transact: { value: transact, enumerable: true } }),
    async whenDrained() {
      const before = open
      open = new Set()
      await Promise.allSettled(before)
    },
  }
}
