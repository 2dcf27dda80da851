/**
 * Lets synchronous validation use what is loaded asynchronously: definitions of installed packages, and fhirpath.js. A
 * validation run records what is missing; the loader loads that and runs the validation again. Parsed definitions are dropped
 * as soon as no run waits for any, because all of them together take more memory than the rest of the server.
 */
import type { Definitions } from '../packages/service.ts'

/** `undefined`: not installed. `null`: not loaded yet; the loader has recorded that it is needed. */
type Found = Record<string, any> | null | undefined

export interface DefinitionLoader {
  /** A definition by its canonical URL, with or without |version. */
  find(type: string, canonical: string): Found
  /** Returns a getter of a value that is loaded once, when the getter is first called. It returns null until then. */
  loadOnce<T>(load: () => Promise<T>): () => T | null
  /**
   * Runs synchronous work, and repeats it after loading until nothing that it needs is missing. The result is a promise only if
   * something had to be loaded.
   */
  runLoaded<T>(work: () => T): T | Promise<T>
}

// Canonical URLs remembered as not installed, so that repeated writes that name thousands of them do not query each time.
const MAX_KNOWN_MISSING = 2000
/** Definitions loaded for one validation: more than R4 has types and any profile has dependencies. Further ones count as not installed. */
const MAX_LOADED = 3000

/** Maximum length of a canonical URL. A longer one counts as not installed, without a query. */
const MAX_CHARACTERS = 1000

const SEPARATOR = ' '
const NOTHING: ReadonlySet<string> = new Set()

type Wanted = Map<string, () => Promise<void>>

export const createDefinitionLoader = (definitions: Pick<Definitions, 'find'>): DefinitionLoader => {
  const held = new Map<string, Record<string, any>>()
  const missing = new Set<string>()
  const loading = new Map<string, Promise<void>>()
  /** What the current run is missing; undefined while nothing is, which is the usual case. */
  let wanted: Wanted | undefined
  let givenUp = NOTHING
  let running = 0
  let kept = 0

  const load = async (key: string, type: string, canonical: string): Promise<void> => {
    const bar = canonical.indexOf('|')
    // The whole text is tried first, because the URLs of some code systems of R4 contain a bar themselves.
    const whole = await definitions.find(type, canonical)
    const isSplit = whole === undefined && bar >= 0
    const found = isSplit ? await definitions.find(type, canonical.slice(0, bar), canonical.slice(bar + 1)) : whole
    if (found !== undefined) held.set(key, JSON.parse(found.json))
    else {
      if (missing.size >= MAX_KNOWN_MISSING) missing.clear()
      missing.add(key)
    }
  }

  /** Starts loading, or joins a load of the same key that is already under way. */
  const loadOnce = (key: string, start: () => Promise<void>): Promise<void> => {
    let under = loading.get(key)
    if (under === undefined) {
      under = start().finally(() => loading.delete(key))
      loading.set(key, under)
    }
    return under
  }

  const want = (key: string, start: () => Promise<void>): void => {
    wanted ??= new Map()
    wanted.set(key, start)
  }

  /** Runs `work` once. Returns its result and what it was missing. `without`: keys that count as not installed. */
  const attempt = <T>(work: () => T, without: ReadonlySet<string>): readonly [T, Wanted | undefined] => {
    wanted = undefined
    givenUp = without
    try {
      const result = work()
      return [result, wanted]
    } finally {
      wanted = undefined
      givenUp = NOTHING
    }
  }

  const again = async <T>(work: () => T, first: Wanted): Promise<T> => {
    running++
    const without = new Set<string>()
    try {
      let next = first
      let loaded = 0
      for (;;) {
        for (const [key, start] of next) {
          // Too many definitions: this one counts as not installed, for this validation only.
          if (loaded++ >= MAX_LOADED) without.add(key)
          else if (!held.has(key)) await loadOnce(key, start)
        }
        const [result, missed] = attempt(work, without)
        if (missed === undefined) return result
        next = missed
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
      if (missing.has(key) || givenUp.has(key) || canonical.length > MAX_CHARACTERS || canonical.includes(SEPARATOR))
        return undefined
      want(key, () => load(key, type, canonical))
      return null
    },
    loadOnce(start) {
      const key = String(kept++)
      let value: Awaited<ReturnType<typeof start>> | null = null
      return () => {
        if (value === null) {
          want(key, async () => {
            value ??= await start()
          })
        }
        return value
      }
    },
    runLoaded(work) {
      const [result, missed] = attempt(work, NOTHING)
      return missed === undefined ? result : again(work, missed)
    },
  }
}
