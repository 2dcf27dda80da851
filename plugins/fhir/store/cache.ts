/**
 * Current versions that are read again and again, by type and id, bounded by bytes. A write replaces its version here
 * after COMMIT, so what is found is what is current. Only where this process is the one writer.
 */
import { LRUCache } from 'lru-cache'
import type { StoredVersion } from './version.ts'

const OVERHEAD_BYTES = 400 // the object, its key and its place in the list
const MOST_VERSION_BYTES = 256 * 1024 // one large Binary must not push out everything else
const DOOR_PLACES = 65_536 // a power of two; each remembers one resource that was met once

export interface VersionCache {
  get(type: string, id: string): StoredVersion | undefined
  /** Read from the database, and so found by nobody here: kept when it comes a second time. */
  offer(version: StoredVersion): void
  /** Written: replaces what is kept. */
  replace(version: StoredVersion): void
}

export const createCache = (mostBytes: number): VersionCache => {
  const cache = new LRUCache<string, StoredVersion>({
    maxSize: mostBytes,
    maxEntrySize: MOST_VERSION_BYTES,
    // The bytes, and the text they unpack to.
    sizeCalculation: ({ held }) => OVERHEAD_BYTES + held,
  })
  // Most of what is read once or written once is not read again soon. Keeping it would push out what is, and objects
  // that live just long enough to be moved by the garbage collector cost more than reading them again.
  const door = new Float64Array(DOOR_PLACES)
  const wasMet = ({ rid }: StoredVersion): boolean => {
    const place = rid % DOOR_PLACES
    if (door[place] === rid) return true
    door[place] = rid
    return false
  }
  const keyOf = ({ type, id }: StoredVersion): string => `${type}/${id}`
  return {
    get: (type, id) => cache.get(`${type}/${id}`),
    offer(version) {
      if (wasMet(version)) cache.set(keyOf(version), version)
    },
    replace(version) {
      const key = keyOf(version)
      if (cache.has(key)) cache.set(key, version)
      else wasMet(version)
    },
  }
}
