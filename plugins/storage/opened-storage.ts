/** The storage: what others add to it in their setup, and what it is once it was opened. */
import { type Clock, defineService, type Runners } from '../../kernel/index.ts'
import type { Database } from '../database/service.ts'
import type { ChangeObserver } from './change-observer.ts'
import { createLargeVersions, type LargeVersions } from './large-versions.ts'
import { createObservers } from './observers.ts'
import { repeatOutdated } from './repeat-outdated.ts'
import { openVersionStore, type VersionStore } from './version-store.ts'
import type { WriteCheck } from './write-check.ts'
import { createWritePath, type WritePath } from './write-path.ts'

interface Opened {
  readonly store: VersionStore
  readonly write: WritePath
}

/** What it is once it was opened is there when the plugin has started; asked for before, it throws. */
export interface Storage extends Opened {
  /** [fhir] cache_bytes */
  readonly cacheBytes: number
  readonly large: LargeVersions
  /** In setup only, by one plugin: it is told of every version. */
  observe(observer: ChangeObserver): void
  /** In setup only: a check of every write. */
  check(check: WriteCheck): void
  /** In the order in which they were added. */
  readonly checks: readonly WriteCheck[]
}

export const Storage = defineService<Storage>('storage')

export interface StorageSettings {
  readonly cache_bytes: number
  readonly large_body_bytes: number
}

export interface StorageParts {
  readonly database: Database
  readonly clock: Clock
  readonly run: Runners
  /** Types known from the installed packages. */
  readonly types: readonly string[]
}

export interface LateStorage {
  readonly service: Storage
  open(parts: StorageParts): Promise<void>
}

export const createStorage = ({ cache_bytes: cacheBytes, large_body_bytes }: StorageSettings): LateStorage => {
  const observers = createObservers()
  const { observe, check, checks } = observers
  const large = createLargeVersions(large_body_bytes)
  let storage: Opened | undefined
  const opened = (): Opened => {
    if (storage === undefined) throw new Error('the storage is asked for before its start')
    return storage
  }
  return {
    service: {
      cacheBytes,
      large,
      observe,
      check,
      checks,
      get store() {
        return opened().store
      },
      get write() {
        return opened().write
      },
    },
    async open({ database, clock, run, types }) {
      const store = await openVersionStore({
        database: repeatOutdated(database, async () => observers.observer.lookAgain?.()),
        clock,
        types,
        cacheBytes,
      })
      observers.close()
      const write = createWritePath({ store, run, observer: observers.observer, checks, large })
      storage = { store, write }
    },
  }
}
