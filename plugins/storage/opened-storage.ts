/** The storage, as it is once it was opened. */
import { type Clock, defineService } from '../../kernel/index.ts'
import type { Database } from '../database/service.ts'
import { trackTransactions } from './open-transactions.ts'
import { openVersionStore, type VersionStore } from './version-store.ts'

/** Everything here is there once the plugin has started; asked for before, it throws. */
export interface Storage {
  readonly store: VersionStore
  /** Resolves when the transactions that are open now have ended. */
  readonly settled: () => Promise<void>
  /** [fhir] cache_bytes */
  readonly cacheBytes: number
}

export const Storage = defineService<Storage>('storage')

export interface StorageParts {
  readonly database: Database
  readonly clock: Clock
  /** Types known from the installed packages. */
  readonly types: readonly string[]
}

export interface LateStorage {
  readonly service: Storage
  open(parts: StorageParts): Promise<void>
}

export const createStorage = (cacheBytes: number): LateStorage => {
  let storage: Pick<Storage, 'store' | 'settled'> | undefined
  const opened = (): Pick<Storage, 'store' | 'settled'> => {
    if (storage === undefined) throw new Error('the storage is asked for before its start')
    return storage
  }
  return {
    service: {
      cacheBytes,
      get store() {
        return opened().store
      },
      get settled() {
        return opened().settled
      },
    },
    async open({ database, clock, types }) {
      const writes = trackTransactions(database)
      const store = await openVersionStore({ database: writes.database, clock, types, cacheBytes })
      storage = { store, settled: writes.whenDrained }
    },
  }
}
