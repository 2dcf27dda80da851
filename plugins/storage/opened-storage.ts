/** The service Storage: other plugins add to it in their setup, and use it after the start. */
import { type Clock, defineService, type MemoryBudget, type Runners } from '../../kernel/index.ts'
import type { AloneOptions, Database } from '../database/service.ts'
import type { GapSource } from './cache/consistent-version-cache.ts'
import type { ChangeObserver } from './change-observer.ts'
import { createLargeVersions, type LargeVersions } from './large-versions.ts'
import { createObservers } from './observers.ts'
import { repeatOutdated } from './repeat-outdated.ts'
import { openVersionStore, type VersionStore } from './version-store.ts'
import type { WriteCheck } from './write-check.ts'
import { createWritePath, type WritePath } from './write-path.ts'

const MIB = 1024 * 1024

interface Opened {
  readonly store: VersionStore
  readonly write: WritePath
}

/** The members of Opened throw until the plugin has started. */
export interface Storage extends Opened {
  /** The setting [fhir] cache_bytes, or its share of the memory. */
  readonly cacheBytes: number
  readonly large: LargeVersions
  /** Sets the observer that is called for every version. One plugin may call it, in its setup. */
  observe(observer: ChangeObserver): void
  /** Adds a check of every write. To be called in setup; throws later. */
  check(check: WriteCheck): void
  /** In the order in which they were added. */
  readonly checks: readonly WriteCheck[]
}

export const Storage = defineService<Storage>('storage')

export interface StorageSettings {
  readonly cache_bytes?: number
  readonly large_body_bytes: number
}

export interface StorageParts {
  readonly database: Database
  readonly feed: GapSource
  readonly clock: Clock
  readonly run: Runners
  /** Names of the resource types of the installed packages. */
  readonly types: readonly string[]
  readonly waiting: Pick<AloneOptions, 'signal' | 'onWait'>
}

export interface LateStorage {
  readonly service: Storage
  open(parts: StorageParts): Promise<void>
}

export const createStorage = (settings: StorageSettings, memory: MemoryBudget): LateStorage => {
  const { large_body_bytes, cache_bytes: cacheBytes = memory.share(32 * MIB, { least: 8 * MIB, most: 256 * MIB }) } =
    settings
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
    async open({ database, feed, clock, run, types, waiting }) {
      const store = await openVersionStore({
        database: repeatOutdated(database, async () => observers.observer.lookAgain?.()),
        clock,
        types,
        cacheBytes,
        feed,
        waiting,
      })
      observers.close()
      const write = createWritePath({ store, run, observer: observers.observer, checks, large })
      storage = { store, write }
    },
  }
}
