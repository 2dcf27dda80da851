/**
 * Versions that are sent again and again, bounded by bytes, each once: by number and version for searches, which is true
 * for ever; by type and id for reads, where it is current. A write replaces its version here after COMMIT, so what is
 * found by id is what is current. Only where this process is the one writer.
 */
import { LRUCache } from 'lru-cache'
import type { StoredVersion } from '../version.ts'
import { createAdmissionFilter } from './admission-filter.ts'

const OVERHEAD_BYTES = 400 // the object, its key and its place in the list
const MAX_VERSION_BYTES = 256 * 1024 // one large Binary must not push out everything else
const ADMISSION_SLOTS = 65_536 // a power of two; each remembers one resource that was met once

export interface VersionCache {
  /** The current version. */
  get(type: string, id: string): StoredVersion | undefined
  /** The same by `Type/id`. */
  getCurrent(path: string): StoredVersion | undefined
  /** One version by the number of its resource. */
  getVersion(rid: number, version: number): StoredVersion | undefined
  /** Found by no `get`, read from the database, and current now: kept when it comes a second time. */
  offer(version: StoredVersion): void
  /** The same of one that may not be current any more: only `held` finds it. */
  putVersion(version: StoredVersion): void
  /** Written: replaces what is kept. */
  replace(version: StoredVersion): void
}

export const createVersionCache = (mostBytes: number): VersionCache => {
  const current = new Map<string, StoredVersion>()
  const keyOf = ({ type, id }: StoredVersion): string => `${type}/${id}`
  const cache = new LRUCache<number, StoredVersion>({
    maxSize: mostBytes,
    maxEntrySize: MAX_VERSION_BYTES,
    // The bytes, and the text they unpack to.
    sizeCalculation: ({ weight }) => OVERHEAD_BYTES + weight,
    dispose: (version) => {
      const key = keyOf(version)
      if (current.get(key) === version) current.delete(key)
    },
  })
  // Most of what is read once or written once is not read again soon. Keeping it would push out what is, and objects
  // that live just long enough to be moved by the garbage collector cost more than reading them again.
  const door = createAdmissionFilter(ADMISSION_SLOTS)
  const wasMet = ({ rid }: StoredVersion): boolean => door(rid)
  const put = (version: StoredVersion): void => {
    cache.set(version.rid, version)
    // What is too large was not taken.
    if (cache.peek(version.rid) === version) current.set(keyOf(version), version)
  }
  const find = (path: string): StoredVersion | undefined => {
    const version = current.get(path)
    // It was used.
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
  }
}
