/**
 * The synchronous face of what is loaded asynchronously: definitions of installed packages, and fhirpath.js. What is not
 * there yet is noted while a validation runs, loaded, and the validation is run again. Parsed definitions are dropped as
 * soon as nothing is being compiled, because all of them together take more memory than the rest of the server.
 */
import type { Definitions } from '../packages/service.ts'

/** `undefined`: not installed. `null`: not known yet, and noted. */
type Found = Record<string, any> | null | undefined

export interface DefinitionLoader {
  /** A definition by canonical URL, with |version or without. */
  find(type: string, canonical: string): Found
  /** A value that is loaded once and kept, null until then. */
  loadOnce<T>(load: () => Promise<T>): () => T | null
  /**
   * Runs synchronous work until it asks for nothing that is not there. The result is a promise only if something had to
   * be loaded.
   */
  runLoaded<T>(work: () => T): T | Promise<T>
}

// A write that names thousands of types that do not exist must not become thousands of queries each time.
const MAX_KNOWN_MISSING = 2000
/** More than R4 has types and a profile has dependencies. */
const MAX_LOADED = 3000

/** No canonical is longer; what is longer is not looked for, and not remembered. */
const MAX_CHARACTERS = 1000

const SEPARATOR = ' '
const NOTHING: ReadonlySet<string> = new Set()

type Wanted = Map<string, () => Promise<void>>

export const createDefinitionLoader = (definitions: Pick<Definitions, 'find'>): DefinitionLoader => {
  const held = new Map<string, Record<string, any>>()
  const missing = new Set<string>()
  const loading = new Map<string, Promise<void>>()
  /** Made when something is missing, which is seldom. */
  let wanted: Wanted | undefined
  let givenUp = NOTHING
  let running = 0
  let kept = 0

  const load = async (key: string, type: string, canonical: string): Promise<void> => {
    const bar = canonical.indexOf('|')
    // A url may hold a bar itself, as those of some code systems of R4 do.
    const whole = await definitions.find(type, canonical)
    const isSplit = whole === undefined && bar >= 0
    const found = isSplit ? await definitions.find(type, canonical.slice(0, bar), canonical.slice(bar + 1)) : whole
    if (found !== undefined) held.set(key, JSON.parse(found.json))
    else {
      if (missing.size >= MAX_KNOWN_MISSING) missing.clear()
      missing.add(key)
    }
  }

  /** Validations that wait for the same thing wait for one loading of it. */
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

  /** What `work` missed comes second. */
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
          // Given up, for this run only: it is told as not installed.
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
