/** Caches client keys that are fetched by URL, as long as the answer allows. Concurrent look-ups share one fetch. */
import { LRUCache } from 'lru-cache'
import type { Clock } from '../../../kernel/index.ts'
import type { ClientJwk } from '../clients/client.ts'
import type { FetchJwks } from './fetch-jwks.ts'

const MAX_URLS = 1_000
const AGAIN_MS = 10_000 // between two fetches because of an unknown kid, and after a failed fetch

interface Entry {
  keys: readonly ClientJwk[]
  freshUntil: number
  /** Monotonic time at which the last fetch began, in milliseconds. */
  askedAt: number
  fetching: Promise<void> | undefined
  failed: unknown
}

export interface JwksCache {
  /**
   * The keys with this id at the URL. Fetches them when the cached ones have expired or lack it; rejects when that
   * fails.
   */
  find(uri: string, kid: string): Promise<readonly ClientJwk[]>
}

export const createJwksCache = (fetchJwks: FetchJwks, clock: Clock): JwksCache => {
  const entries = new LRUCache<string, Entry>({ max: MAX_URLS })

  const fetchInto = (uri: string, entry: Entry): Promise<void> => {
    entry.fetching ??= (async () => {
      entry.askedAt = clock.monotonic()
      try {
        const { keys, maxAgeMs } = await fetchJwks(uri)
        entry.keys = keys
        // The lifetime counts from the start of the fetch, because the answer may have been under way for long.
        entry.freshUntil = entry.askedAt + maxAgeMs
        entry.failed = undefined
      } catch (error) {
        entry.failed = error
        entry.freshUntil = Number.NEGATIVE_INFINITY
        throw error
      } finally {
        entry.fetching = undefined
      }
    })()
    return entry.fetching
  }
  return {
    async find(uri, kid) {
      const entry = entries.get(uri) ?? {
        keys: [],
        freshUntil: Number.NEGATIVE_INFINITY,
        askedAt: Number.NEGATIVE_INFINITY,
        fetching: undefined,
        failed: undefined,
      }
      entries.set(uri, entry)
      const mayAskAgain = (): boolean => clock.monotonic() - entry.askedAt >= AGAIN_MS
      const found = (): readonly ClientJwk[] => entry.keys.filter((key) => key.kid === kid)
      let isNew = false
      if (entry.fetching !== undefined || clock.monotonic() >= entry.freshUntil) {
        if (entry.fetching === undefined && entry.failed !== undefined && !mayAskAgain()) throw entry.failed
        await fetchInto(uri, entry)
        isNew = true
      }
      if (found().length === 0 && !isNew && mayAskAgain()) await fetchInto(uri, entry)
      return found()
    },
  }
}
