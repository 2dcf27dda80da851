/**
 * Tracks the open transactions, so that code that changes shared state can wait for those that began before: they may still
 * write by the old state. Needed on PostgreSQL only, because SQLite runs one writing transaction at a time.
 */
import type { Database } from '../database/service.ts'

export interface OpenTransactions {
  /** The database to use: transactions that are started through it are tracked. */
  readonly database: Database
  /** Resolves when every transaction that is open at the call has ended, whether by COMMIT or by failure. */
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
