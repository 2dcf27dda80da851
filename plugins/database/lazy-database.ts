/**
 * The Database service before the database is open. Other plugins hold it from setup on; start opens what is behind
 * it, and nobody may use it earlier.
 */

import type { Database } from './contract.ts'
import { DatabaseUnavailable } from './errors.ts'
import type { Opened } from './opening.ts'

export interface LazyDatabase {
  readonly database: Database
  readonly opened: Opened | undefined
  open(opened: Opened): void
  close(): Promise<void>
}

/** `look` opens the database for reading alone. */
export const createLazyDatabase = (kind: Database['kind'], readOnly: Database['readOnly']): LazyDatabase => {
  let opened: Opened | undefined
  const behind = (): Opened['database'] => {
    if (opened === undefined) throw DatabaseUnavailable()
    return opened.database
  }
  return {
    database: {
      kind,
      get: (statement, params) => behind().get(statement, params),
      all: (statement, params) => behind().all(statement, params),
      longQuery: async (statement, params, signal) => behind().longQuery(statement, params, signal),
      threadReaderLocation: () => behind().threadReaderLocation(),
      readOnly,
      // A change waits for the promise itself: one more around it is three turns of the queue.
      transact: (work, options) =>
        opened === undefined ? Promise.reject(DatabaseUnavailable()) : opened.database.transact(work, options),
      alone: async (name, work, options) => behind().alone(name, work, options),
      orm: async () => behind().orm(),
      status: () => behind().status(),
      isShared: async () => behind().isShared(),
    },
    get opened() {
      return opened
    },
    open(one) {
      opened = one
    },
    async close() {
      const closing = opened
      opened = undefined
      await closing?.close()
    },
  }
}
