/** FHIR storage: reads of current and past versions; writes go through write-path.ts inside a transaction. */
import type { Clock } from '../../kernel/index.ts'
import { type Database, isHeldUp, type MaybePromise, type Transaction } from '../database/service.ts'
import { createVersionCache } from './cache/version-cache.ts'
import { Contended } from './errors.ts'
import { createHistory, type HistoryPage, type HistoryQuery } from './history.ts'
import { createBlockKeys, createCountedKeys, type Keys } from './resource-keys.ts'
import { type RowSource, rowSourceOf } from './row-source.ts'
import {
  lockCurrent,
  lockForDelete,
  nextWriter,
  readCurrent,
  readNewestKeys,
  readSuperseded,
  type VersionRow,
} from './tables.ts'
import { loadTypeCodes, type TypeCodes } from './type-codes.ts'
import { StoredVersion } from './version.ts'
import { createVersionClock, type VersionClock } from './version-time.ts'

export interface VersionStoreOptions {
  readonly database: Database
  readonly clock: Clock
  /** Types known from the installed packages. */
  readonly types: readonly string[]
  /** Most bytes of current versions kept in memory; 0 keeps none. */
  readonly cacheBytes: number
}

export interface Reads {
  /** The current version, a deletion too; undefined when there never was one. */
  read(type: string, id: string): StoredVersion | undefined | Promise<StoredVersion | undefined>
  /** One version by number. */
  vread(type: string, id: string, version: number): Promise<StoredVersion | undefined>
  history(query: HistoryQuery, signal: AbortSignal): Promise<HistoryPage>
}

/** Reads of what is committed, and what a write needs. */
export interface VersionStore extends Reads {
  readonly database: Database
  readonly types: TypeCodes
  readonly versionClock: VersionClock
  /** The same store whose reads are made inside a transaction and see what it has written. */
  within(transaction: Transaction): VersionStore
  /**
   * The current version inside a transaction: nobody else changes it before COMMIT. `doomed`, to be deleted: nobody else
   * makes a reference to it either. Throws Contended when others hold it for too long.
   */
  lock(transaction: Transaction, type: string, id: string, forDelete?: boolean): Promise<StoredVersion | undefined>
  /** Until COMMIT nobody else gets past here with the same name. SQLite has one writer, and lets nobody wait. Throws Contended. */
  advisoryLock(transaction: Transaction, name: string): Promise<void>
  /** The number of the next resource. Never given again; in order where one server writes. */
  nextResourceKey(): MaybePromise<number>
  /** The number of the newest resource this process knows to be committed. */
  readonly newestResourceKey: () => number
  /** What `read` would find in memory under `Type/id`, where it looks there. */
  getCurrent(path: string): StoredVersion | undefined
  /** A version that is in memory; it may not be the current one. */
  getVersion(rid: number, version: number): StoredVersion | undefined
  /** Keeps a version for `held`. */
  putVersion(version: StoredVersion): void
  /** After COMMIT: what is current now. */
  committed(versions: readonly StoredVersion[]): void
  /** Reads where the numbering stands: at start, and when this process becomes the one that writes. */
  reload(): Promise<void>
}

export const openVersionStore = async ({
  database,
  clock,
  types,
  cacheBytes,
}: VersionStoreOptions): Promise<VersionStore> => {
  const codes = await loadTypeCodes(database, types)
  const cache = cacheBytes > 0 ? createVersionCache(cacheBytes) : undefined
  // With several servers what is kept is one version, and perhaps no longer the current one.
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
    const writer = await database.get<{ number: number }>(nextWriter, [])
    keys = createBlockKeys(database, clock)
    versionClock = createVersionClock(clock, newest?.upd ?? 0, Number(writer?.number ?? 0))
  }
  await reload()

  const toVersion = (type: string, row: VersionRow | undefined): StoredVersion | undefined =>
    row === undefined ? undefined : new StoredVersion(type, row)
  const offer = (version: StoredVersion | undefined): StoredVersion | undefined => {
    if (version !== undefined) cache?.offer(version)
    return version
  }
  const read: VersionStore['read'] = (type, id) => {
    const cached = isAlone ? cache?.get(type, id) : undefined
    if (cached !== undefined) return cached
    const code = codes.code(type)
    if (code === undefined) return undefined
    const row = database.get<VersionRow>(readCurrent, [code, id])
    // A read that had to wait may have been overtaken by a write: only what was read at once may be kept.
    if (row instanceof Promise) return row.then((found) => toVersion(type, found))
    return offer(toVersion(type, row))
  }
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
  const store: VersionStore = {
    database,
    types: codes,
    get versionClock() {
      return versionClock
    },
    read,
    vread: vreadFrom(database, read),
    history: (query, signal) => history(database, query, signal),
    within(transaction) {
      const readHere: Reads['read'] = async (type, id) =>
        toVersion(type, await transaction.get<VersionRow>(readCurrent, [codes.code(type) ?? 0, id]))
      const source = rowSourceOf(transaction)
      const reads: Reads = {
        read: readHere,
        vread: vreadFrom(transaction, readHere),
        history: (query, signal) => history(source, query, signal),
      }
      return Object.assign(Object.create(store), reads)
    },
    async lock(transaction, type, id, forDelete = false) {
      const statement = forDelete ? lockForDelete : lockCurrent
      try {
        const turn = transaction.queue(`${type}/${id}`)
        if (turn instanceof Promise) await turn
        return toVersion(type, await transaction.get<VersionRow>(statement, [codes.code(type) ?? 0, id]))
      } catch (error) {
        throw isHeldUp(error) ? Contended() : error
      }
    },
    async advisoryLock(transaction, name) {
      try {
        const held = transaction.hold(name)
        if (held instanceof Promise) await held
      } catch (error) {
        throw isHeldUp(error) ? Contended() : error
      }
    },
    nextResourceKey: () => keys.take(),
    newestResourceKey: () => newestResourceKey,
    getCurrent: (path) => (isAlone ? cache?.getCurrent(path) : undefined),
    getVersion: (number, version) => cache?.getVersion(number, version),
    putVersion: (version) => cache?.putVersion(version),
    committed(versions) {
      for (const version of versions) if (version.rid > newestResourceKey) newestResourceKey = version.rid
      if (cache !== undefined) for (const version of versions) cache.replace(version)
    },
    reload,
  }
  return store
}
