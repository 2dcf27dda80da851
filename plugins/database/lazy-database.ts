/**
 * The Database service before the database is open. Other plugins have it from setup on; `start` opens the database
 * behind it, and earlier calls fail.
 */

import type { Database } from './contract.ts'
import { DatabaseUnavailable, LeaseUnconfirmed } from './errors.ts'
import type { Opened } from './opening.ts'

export interface LazyDatabase {
  readonly database: Database
  readonly opened: Opened | undefined
  open(opened: Opened): void
  close(): Promise<void>
}

/** `readOnly` opens the database read-only, and `beside` a session of its own, also before the start. */
export const createLazyDatabase = ({
  kind,
  isReader,
  readOnly,
  beside,
}: Pick<Database, 'kind' | 'isReader' | 'readOnly' | 'beside'>): LazyDatabase => {
  let opened: Opened | undefined
  const behind = (): Opened['database'] => {
    if (opened === undefined) throw DatabaseUnavailable()
    return opened.database
  }
  return {
    database: {
      kind,
      isReader,
      get: (statement, params) => behind().get(statement, params),
      all: (statement, params) => behind().all(statement, params),
      longQuery: async (statement, params, signal) => behind().longQuery(statement, params, signal),
      threadReaderLocation: () => behind().threadReaderLocation(),
      readOnly,
      beside,
      // Returns the promise itself: an async function around it would take three more microtasks per change.
      transact: (work, options) =>
        opened === undefined ? Promise.reject(DatabaseUnavailable()) : opened.database.transact(work, options),
      reading: async (work) => behind().reading(work),
      alone: async (name, work, options) => behind().alone(name, work, options),
      orm: async () => behind().orm(),
      status: () => behind().status(),
      isShared: async () => behind().isShared(),
      checkLease() {
        if (opened?.mayAnswer() === false) throw LeaseUnconfirmed()
      },
      isSole: () => opened?.database.isSole() ?? false,
      isBeside: () => opened?.database.isBeside() ?? false,
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
