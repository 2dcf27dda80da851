/**
 * The version cache of reads and writes. Current versions are shown while this process is the only one that writes.
 *
 * On SQLite writes follow one another, and a read has ended before the next write, which replaces the cached version.
 *
 * On PostgreSQL commits overlap with reads, their answers arrive in another order, and an outcome may stay unknown. A version is
 * cached as the current one only while no change of the resource is under way (change-marks.ts): a write that begins drops
 * it, and puts its own version there once it is on disk and before it is answered, if no other write of the resource
 * overlapped with it. `Database.isSole` is checked whenever a version is shown, so a process that was suspended shows
 * nothing that another server may have replaced meanwhile. A gap of the feed, which every new epoch of the writer lease
 * causes, empties the cache.
 */
import type { Database, Transaction } from '../../database/service.ts'
import type { StoredVersion } from '../version.ts'
import { createChangeMarks } from './change-marks.ts'
import { createVersionCache } from './version-cache.ts'

/** The part of the feed of changes that shows when cached versions may be wrong. */
export interface GapSource {
  readonly status: { readonly epoch: number } | undefined
  listen(listener: { readonly name: string; commit(): void; gap(at: { readonly epoch: number }): void }): () => void
}

export interface ConsistentVersionCache {
  /** The current version of `Type/id`; undefined if it is not known. */
  getCurrent(path: string): StoredVersion | undefined
  /** A version by the resource key, which may no longer be current. */
  getVersion(rid: number, version: number): StoredVersion | undefined
  /** Offers a version that a search has read. It may no longer be current. */
  putVersion(version: StoredVersion): void
  /** Offers the current version that a read has found without waiting. Returns it. */
  found(version: StoredVersion | undefined): StoredVersion | undefined
  /** To be called before a read that waits. The returned function takes its result and returns it. */
  reading(path: string): (found: StoredVersion | undefined) => StoredVersion | undefined
  /** To be called in the transaction that writes the version. */
  writing(transaction: Transaction, version: StoredVersion): void
  /** To be called after COMMIT with the written versions. */
  committed(versions: readonly StoredVersion[]): void
}

const PLACES = 32_768 // a power of two

const placeOf = (path: string): number => {
  let hash = path.length
  for (let at = 0; at < path.length; at += 1) hash = Math.imul(hash ^ path.charCodeAt(at), 0x9e3779b1)
  return (hash ^ (hash >>> 15)) & (PLACES - 1)
}

const cacheNothing: ConsistentVersionCache['found'] = (version) => version

const NOTHING: ConsistentVersionCache = {
  getCurrent: () => undefined,
  getVersion: () => undefined,
  putVersion: () => undefined,
  found: cacheNothing,
  reading: () => cacheNothing,
  writing: () => undefined,
  committed: () => undefined,
}

const cacheOnSqlite = (mostBytes: number): ConsistentVersionCache => {
  const cache = createVersionCache(mostBytes)
  return {
    getCurrent: (path) => cache.getCurrent(path),
    getVersion: (rid, version) => cache.getVersion(rid, version),
    putVersion: (version) => cache.putVersion(version),
    found(version) {
      if (version !== undefined) cache.offer(version)
      return version
    },
    // A write may be committed while the read waits.
    reading: () => cacheNothing,
    writing: () => undefined,
    committed(versions) {
      for (const version of versions) cache.replace(version)
    },
  }
}

const cacheOnPostgres = (mostBytes: number, isSole: () => boolean, feed: GapSource): ConsistentVersionCache => {
  const cache = createVersionCache(mostBytes)
  const marks = createChangeMarks(feed.status?.epoch ?? 0, PLACES)
  const pathOf = ({ type, id }: StoredVersion): string => `${type}/${id}`
  feed.listen({
    name: 'versions in memory',
    commit: () => undefined,
    gap({ epoch }) {
      // Versions that were read before they were on disk may be lost, and their numbers used again.
      cache.clear()
      marks.forget(epoch)
    },
  })
  return {
    getCurrent(path) {
      const version = cache.getCurrent(path)
      return version !== undefined && isSole() ? version : undefined
    },
    getVersion: (rid, version) => cache.getVersion(rid, version),
    putVersion(version) {
      // A version that is being written may not be on disk yet.
      if (!marks.isMarked(placeOf(pathOf(version)))) cache.putVersion(version)
    },
    found: cacheNothing,
    reading(path) {
      if (!isSole()) return cacheNothing
      const keys = [placeOf(path)]
      const look = marks.look(keys)
      if (look === undefined) return cacheNothing
      return (found) => {
        if (found !== undefined && marks.isUnchanged(keys, look)) cache.offer(found)
        return found
      }
    },
    writing(transaction, version) {
      const path = pathOf(version)
      const key = placeOf(path)
      let ticket = 0
      // Called first, because it throws where the transaction has ended, and a mark would stay.
      transaction.afterEnd((outcome) => {
        if (outcome === 'unknown') return marks.lose(key)
        const isAlone = marks.end(key, ticket)
        if (outcome === 'undone') return
        if (isAlone) cache.replace(version)
        else cache.putVersion(version)
      })
      ticket = marks.begin(key)
      cache.forgetCurrent(path)
    },
    committed: () => undefined,
  }
}

/** `mostBytes`: 0 disables the cache. */
export const createConsistentVersionCache = (
  database: Database,
  mostBytes: number,
  feed: GapSource,
): ConsistentVersionCache => {
  if (mostBytes === 0) return NOTHING
  return database.kind === 'postgres' ? cacheOnPostgres(mostBytes, database.isSole, feed) : cacheOnSqlite(mostBytes)
}
