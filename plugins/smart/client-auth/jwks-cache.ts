/** Keys of clients that are fetched by URL: kept as long as their sender allows, fetched once however many ask. */
import { LRUCache } from 'lru-cache'
import type { Clock } from '../../../kernel/index.ts'
import type { ClientJwk } from '../clients/client.ts'
import type { FetchJwks } from './fetch-jwks.ts'

const MAX_URLS = 1_000
const AGAIN_MS = 10_000 // between two fetches for the sake of an unknown kid, and after one that failed

interface Entry {
  keys: readonly ClientJwk[]
  freshUntil: number
  /** Monotonic time of the last fetch that began. */
  askedAt: number
  fetching: Promise<void> | undefined
  failed: unknown
}

export interface JwksCache {
  /** The keys at the URL that have this id. Rejects where they cannot be fetched. */
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
        // Counted from when it was asked for: the answer may have been long on its way.
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
