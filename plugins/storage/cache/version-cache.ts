/**
 * Caches versions that are sent repeatedly, at most one version per resource and a bounded number of bytes. Searches look up
 * by resource key and version number, which can never be stale. Reads look up the current version by type and id: this
 * process is the only one that writes, and each of its writes replaces the cached version after COMMIT. On PostgreSQL, where
 * writes overlap with reads and with each other, `consistent-version-cache.ts` says what may be in here and when it may be shown.
 */
import { LRUCache } from 'lru-cache'
import type { StoredVersion } from '../version.ts'
import { createAdmissionFilter } from './admission-filter.ts'

const OVERHEAD_BYTES = 400 // per version: the object, its key and the entry of the LRU list
const MAX_VERSION_BYTES = 256 * 1024 // one large Binary must not push out everything else
const ADMISSION_SLOTS = 65_536 // a power of two; each remembers one resource that was requested once

export interface VersionCache {
  /** The current version. */
  get(type: string, id: string): StoredVersion | undefined
  /** The same by `Type/id`. */
  getCurrent(path: string): StoredVersion | undefined
  /** A version by `rid`, the number of the resource in the database. Undefined if it is not cached. */
  getVersion(rid: number, version: number): StoredVersion | undefined
  /** Offers a current version that was read from the database. It is cached when the resource is offered a second time. */
  offer(version: StoredVersion): void
  /** The same for a version that may no longer be current: only `getVersion` finds it. */
  putVersion(version: StoredVersion): void
  /** After a write: replaces an older cached version of the same resource. */
  replace(version: StoredVersion): void
  /** The current version of `Type/id` is no longer known. `getVersion` still finds it. */
  forgetCurrent(path: string): void
  clear(): void
}

export const createVersionCache = (mostBytes: number): VersionCache => {
  const current = new Map<string, StoredVersion>()
  const keyOf = ({ type, id }: StoredVersion): string => `${type}/${id}`
  const cache = new LRUCache<number, StoredVersion>({
    maxSize: mostBytes,
    maxEntrySize: MAX_VERSION_BYTES,
    // The weight includes the text, which the version keeps once it was decompressed.
    sizeCalculation: ({ weight }) => OVERHEAD_BYTES + weight,
    dispose: (version) => {
      const key = keyOf(version)
      if (current.get(key) === version) current.delete(key)
    },
  })
  // Most versions that are read or written once are not read again soon. Caching them would evict those that are. Besides,
  // objects that live just long enough to be moved by the garbage collector cost more than another read.
  const door = createAdmissionFilter(ADMISSION_SLOTS)
  const wasMet = ({ rid }: StoredVersion): boolean => door(rid)
  const put = (version: StoredVersion): void => {
    cache.set(version.rid, version)
    // The LRU cache ignores a version that is too large.
    if (cache.peek(version.rid) === version) current.set(keyOf(version), version)
  }
  const find = (path: string): StoredVersion | undefined => {
    const version = current.get(path)
    // Marks the version as recently used.
    if (version !== undefined) cache.get(version.rid)
    return version
  }
  return {
    get: (type, id) => find(`${type}/${id}`),
    getCurrent: find,
    getVersion(rid, number) {
      const version = cache.get(rid)
      return version?.version === number ? version : undefined
    },
    offer(version) {
      if (cache.has(version.rid) || wasMet(version)) put(version)
    },
    putVersion(version) {
      const held = cache.peek(version.rid)
      if (held === undefined ? wasMet(version) : held.version < version.version) cache.set(version.rid, version)
    },
    replace(version) {
      const held = cache.peek(version.rid)
      if (held === undefined) wasMet(version)
      else if (held.version < version.version) put(version)
    },
    forgetCurrent: (path) => void current.delete(path),
    clear() {
      cache.clear()
      current.clear()
    },
  }
}
