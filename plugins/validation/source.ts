/**
 * The synchronous face of the installed definitions: what is not there yet is noted while a validation runs, loaded, and
 * the validation is run again. Parsed definitions are dropped as soon as nothing is being compiled, because all of them
 * together take more memory than the rest of the server.
 */
import type { Definitions } from '../packages/service.ts'

/** `undefined`: not installed. `null`: not known yet, and noted. */
type Found = Record<string, unknown> | null | undefined

export interface Source {
  /** A definition by canonical URL, with |version or without. */
  find(type: string, canonical: string): Found
  /**
   * Runs synchronous work until it asks for nothing that is not there. The result is a promise only if something had to
   * be loaded.
   */
  settle<T>(work: () => T): T | Promise<T>
}

// A write that names thousands of types that do not exist must not become thousands of queries each time.
const MOST_KNOWN_MISSING = 2000
/** More than R4 has types and a profile has dependencies. */
const MOST_LOADED = 3000

const SEPARATOR = ' '
const NOTHING: ReadonlySet<string> = new Set()

export const createSource = (definitions: Pick<Definitions, 'find'>): Source => {
  const held = new Map<string, Record<string, unknown>>()
  const missing = new Set<string>()
  const loading = new Map<string, Promise<void>>()
  let wanted = new Set<string>()
  let givenUp = NOTHING
  let running = 0

  const load = async (key: string): Promise<void> => {
    const [type, canonical] = key.split(SEPARATOR) as [string, string]
    const bar = canonical.indexOf('|')
    const found = await (bar < 0
      ? definitions.find(type, canonical)
      : definitions.find(type, canonical.slice(0, bar), canonical.slice(bar + 1)))
    if (found !== undefined) held.set(key, JSON.parse(found.json))
    else {
      if (missing.size >= MOST_KNOWN_MISSING) missing.clear()
      missing.add(key)
    }
  }

  const loadOnce = (key: string): Promise<void> => {
    let under = loading.get(key)
    if (under === undefined) {
      under = load(key).finally(() => loading.delete(key))
      loading.set(key, under)
    }
    return under
  }

  const again = async <T>(work: () => T, first: Set<string>): Promise<T> => {
    running++
    const unknown = new Set<string>()
    try {
      let next = first
      let loaded = 0
      for (;;) {
        for (const key of next) {
          // Given up, for this run only: it is told as not installed.
          if (loaded++ >= MOST_LOADED) unknown.add(key)
          else await loadOnce(key)
        }
        wanted = new Set()
        givenUp = unknown
        let result: T
        try {
          result = work()
        } finally {
          givenUp = NOTHING
        }
        next = wanted
        wanted = new Set()
        if (next.size === 0) return result
      }
    } finally {
      running--
      if (running === 0) held.clear()
    }
  }

  return {
    find(type, canonical) {
      const key = type + SEPARATOR + canonical
      const found = held.get(key)
      if (found !== undefined) return found
      if (missing.has(key) || givenUp.has(key) || canonical.includes(SEPARATOR)) return undefined
      wanted.add(key)
      return null
    },
    settle(work) {
      wanted = new Set()
      const result = work()
      if (wanted.size === 0) return result
      const first = wanted
      wanted = new Set()
      return again(work, first)
    },
  }
}
