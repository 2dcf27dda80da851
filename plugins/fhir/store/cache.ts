/**
 * Current versions that were read or written lately, by type and id, bounded by bytes. A write puts its new version
 * here after COMMIT, so what is found is what is current. Only where this process is the one writer.
 */
import { LRUCache } from 'lru-cache'
import type { StoredVersion } from './version.ts'

const OVERHEAD_BYTES = 400 // the object, its key and its place in the list
const MOST_VERSION_BYTES = 256 * 1024 // one large Binary must not push out everything else

export interface VersionCache {
  get(type: string, id: string): StoredVersion | undefined
  put(version: StoredVersion): void
}

export const createCache = (mostBytes: number): VersionCache => {
  const cache = new LRUCache<string, StoredVersion>({
    maxSize: mostBytes,
    maxEntrySize: MOST_VERSION_BYTES,
    // Packed bytes and, once it was sent plain, the unpacked ones.
    sizeCalculation: ({ bytes, gzip }) => OVERHEAD_BYTES + bytes.length * (gzip ? 4 : 1),
  })
  return {
    get: (type, id) => cache.get(`${type}/${id}`),
    put: (version) => void cache.set(`${version.type}/${version.id}`, version),
  }
}
