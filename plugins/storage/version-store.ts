/** Reads current and past versions, and provides locks, keys and version times to write-path.ts. */
import type { Clock } from '../../kernel/index.ts'
import { type AloneOptions, chain, type Database, type MaybePromise, type Transaction } from '../database/service.ts'
import { createConsistentVersionCache, type GapSource } from './cache/consistent-version-cache.ts'
import { WrittenBeside } from './errors.ts'
import { createHistory, type HistoryPage, type HistoryQuery } from './history.ts'
import { createOpenWrites } from './open-writes.ts'
import { createReadsSeveral, type ReadsSeveral } from './read-several.ts'
import { createBlockKeys, createCountedKeys, type Keys } from './resource-keys.ts'
import { type RowSource, rowSourceOf } from './row-source.ts'
import {
  nextWriter,
  readCurrent,
  readCurrentNumber,
  readFirstNumber,
  readNewestKeys,
  readSuperseded,
  type VersionRow,
} from './tables.ts'
import { toVersion } from './to-version.ts'
import { loadTypeCodes, type TypeCodes } from './type-codes.ts'
import type { StoredVersion } from './version.ts'
import { createVersionLocks, type VersionLocks } from './version-locks.ts'
import { createVersionClock, type VersionClock } from './version-time.ts'

export interface VersionStoreOptions {
  readonly database: Database
  readonly clock: Clock
  /** Names of the resource types of the installed packages. */
  readonly types: readonly string[]
  /** Maximum size of the version cache in bytes; 0 disables it. */
  readonly cacheBytes: number
  readonly feed: GapSource
  /** Of a wait for another server. */
  readonly waiting?: Pick<AloneOptions, 'signal' | 'onWait'>
}

export interface Reads {
  /** The current version, which may be a deletion; undefined if the resource never existed. */
  read(type: string, id: string): StoredVersion | undefined | Promise<StoredVersion | undefined>
  /** One version by its number; undefined if there is none. */
  vread(type: string, id: string, version: number): Promise<StoredVersion | undefined>
  history(query: HistoryQuery, signal: AbortSignal): Promise<HistoryPage>
  /** The number of the first version of the resource that is there: earlier ones were erased. */
  firstNumber(current: StoredVersion): MaybePromise<number>
  /** Whether the version is still the current one. Does not read the content. */
  isCurrent(version: StoredVersion): MaybePromise<boolean>
}

/** Reads of committed versions, and the functions that a write needs. */
export interface VersionStore extends Reads, ReadsSeveral, VersionLocks {
  readonly database: Database
  readonly types: TypeCodes
  readonly versionClock: VersionClock
  /** The same store with reads inside the transaction, which see what it has written. */
  within(transaction: Transaction): VersionStore
  /** The key of the next resource. It is never given out twice; keys ascend only if a single server writes. */
  nextResourceKey(): MaybePromise<number>
  /** The largest resource key that this process knows to be committed. */
  readonly newestResourceKey: () => number
  /** A query has found this key: another server may have given it out. */
  noticeResourceKey(key: number): void
  /** The cached current version of `Type/id`. Undefined where it is not known, and where another server may have replaced it. */
  getCurrent(path: string): StoredVersion | undefined
  /** A cached version, which may no longer be current. */
  getVersion(rid: number, version: number): StoredVersion | undefined
  /** Offers a version to the cache of `getVersion`. */
  putVersion(version: StoredVersion): void
  /**
   * To be called in the transaction before the row of the version is written. Throws where this process may not write
   * resources, because a server caches them and would not learn of the change.
   */
  writing(transaction: Transaction, version: StoredVersion): void
  /** To be called after COMMIT with the written versions: updates the cache and the newest key. */
  committed(versions: readonly StoredVersion[]): void
  /** Waits, at most a second, for transactions that are open, so that `closeTime` is near. */
  settle(): Promise<void>
  /**
   * The last microsecond of a millisecond, such that all versions up to it are committed or never will be, and no version
   * that is written from now on gets a time before its end. Call it inside a transaction, whose rows may refer to it: on
   * SQLite the versions before it are committed with that transaction at the latest.
   */
  closeTime(): number
  /** Reads the newest key and version time from the database: at start, and when this process becomes the writer. */
  reload(): Promise<void>
}

export const openVersionStore = async ({
  database,
  clock,
  types,
  cacheBytes,
  feed,
  waiting,
}: VersionStoreOptions): Promise<VersionStore> => {
  const codes = await loadTypeCodes(database, types, waiting)
  const versionCache = createConsistentVersionCache(database, cacheBytes, feed)
  const isAlone = database.kind !== 'postgres'
  let keys: Keys = createCountedKeys(0)
  let newestResourceKey = 0
  let versionClock: VersionClock = createVersionClock(clock, 0)
  const reload = async (): Promise<void> => {
    const newest = await database.get<{ rid: number | null; upd: number | null }>(readNewestKeys, [])
    newestResourceKey = newest?.rid ?? 0
    if (isAlone) {
      keys = createCountedKeys(newestResourceKey)
      versionClock = createVersionClock(clock, newest?.upd ?? 0)
      return
    }
    if (database.isReader) return
    const writer = await database.get<{ number: number }>(nextWriter, [])
    keys = createBlockKeys(database, clock)
    versionClock = createVersionClock(clock, newest?.upd ?? 0, Number(writer?.number ?? 0))
  }
  await reload()

  const read: VersionStore['read'] = (type, id) => {
    const path = `${type}/${id}`
    const cached = versionCache.getCurrent(path)
    if (cached !== undefined) return cached
    const code = codes.code(type)
    if (code === undefined) return undefined
    const found = versionCache.reading(path)
    const row = database.get<VersionRow>(readCurrent, [code, id])
    return row instanceof Promise
      ? row.then((one) => found(toVersion(type, one)))
      : versionCache.found(toVersion(type, row))
  }
  const isCurrentIn = (source: Pick<RowSource, 'get'>, { rid, version }: StoredVersion): MaybePromise<boolean> =>
    chain(source.get<Pick<VersionRow, 'ver'>>(readCurrentNumber, [rid]), (row) => row?.ver === version)
  const firstNumberIn = (source: Pick<RowSource, 'get'>, { rid, version }: StoredVersion): MaybePromise<number> =>
    version === 1
      ? 1
      : chain(source.get<{ readonly ver: number | null }>(readFirstNumber, [rid]), (row) => row?.ver ?? version)
  const vreadFrom =
    (source: Pick<RowSource, 'get'>, readCurrently: Reads['read']): Reads['vread'] =>
    async (type, id, version) => {
      const current = await readCurrently(type, id)
      if (current === undefined || version > current.version || version < 1) return undefined
      if (version === current.version) return current
      const row = await source.get<VersionRow>(readSuperseded, [codes.code(type) ?? 0, id, version])
      return toVersion(type, row)
    }
  const history = createHistory(codes)
  const writes = createOpenWrites(() => versionClock.next(), clock)
  const store: VersionStore = {
    database: writes.watch(database),
    types: codes,
    get versionClock() {
      return versionClock
    },
    read,
    vread: vreadFrom(database, read),
    history: (query, signal) => history(database, query, signal),
    ...createReadsSeveral(database, codes),
    firstNumber: (current) => firstNumberIn(database, current),
    isCurrent(version) {
      const cached = versionCache.getCurrent(`${version.type}/${version.id}`)
      return cached === undefined ? isCurrentIn(database, version) : cached.version === version.version
    },
    within(transaction) {
      const readHere: Reads['read'] = async (type, id) =>
        toVersion(type, await transaction.get<VersionRow>(readCurrent, [codes.code(type) ?? 0, id]))
      const source = rowSourceOf(transaction)
      const reads: Reads & ReadsSeveral = {
        read: readHere,
        vread: vreadFrom(transaction, readHere),
        history: (query, signal) => history(source, query, signal),
        ...createReadsSeveral(source, codes),
        firstNumber: (current) => firstNumberIn(transaction, current),
        isCurrent: (version) => isCurrentIn(transaction, version),
      }
      return Object.assign(Object.create(store), reads)
    },
    ...createVersionLocks(codes, isAlone),
    nextResourceKey: () => keys.take(),
    newestResourceKey: () => newestResourceKey,
    noticeResourceKey(key) {
      if (key > newestResourceKey) newestResourceKey = key
    },
    getCurrent: versionCache.getCurrent,
    getVersion: versionCache.getVersion,
    putVersion: versionCache.putVersion,
    writing(transaction, version) {
      if (database.isBeside()) throw WrittenBeside()
      versionCache.writing(transaction, version)
    },
    committed(versions) {
      for (const version of versions) if (version.rid > newestResourceKey) newestResourceKey = version.rid
      versionCache.committed(versions)
    },
    settle: writes.settle,
    closeTime() {
      const end = versionClock.endMillisecond()
      const { oldest } = writes
      return oldest === undefined ? end : Math.min(end, Math.floor(oldest / 1000) * 1000 - 1)
    },
    reload,
  }
  return store
}
