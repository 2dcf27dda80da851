/**
 * Hashes texts to the integers of index rows. Values have 48 bits, which SQLite stores in six bytes and a JavaScript
 * number holds exactly; systems have 32. A seed that each database has of its own keeps clients from constructing
 * collisions.
 */

export interface Hasher {
  /** Signed, 48 bits. */
  readonly long: (text: string) => number
  /** Signed, 32 bits, never 0: 0 stands for "none". */
  readonly short: (text: string) => number
  /** Hash of a code, in lower case if its system is not case-sensitive. `system` is empty for none. */
  readonly code: (code: string, system: string) => number
  /** URLs of code systems whose codes are compared without case. */
  readonly caseless: ReadonlySet<string>
}

const HALF = 2 ** 47
const HIGH = 2 ** 32

/** Computes the short hash of a text from its long hash. */
export const shortened = (long: number): number => Math.imul(long >>> 0, 0x85ebca6b) | 0 || 1

const NONE: ReadonlySet<string> = new Set()

export const createHasher = (seed: number, caseless = NONE): Hasher => {
  const first = 0xdeadbeef ^ seed
  const second = 0x41c6ce57 ^ Math.imul(seed, 0x9e3779b1)
  const long = (text: string): number => {
    let h1 = first
    let h2 = second
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at)
      h1 = Math.imul(h1 ^ code, 2654435761)
      h2 = Math.imul(h2 ^ code, 1597334677)
    }
    h1 = Math.imul(h1 ^ (h1 >>> 16), 2246822507) ^ Math.imul(h2 ^ (h2 >>> 13), 3266489909)
    h2 = Math.imul(h2 ^ (h2 >>> 16), 2246822507) ^ Math.imul(h1 ^ (h1 >>> 13), 3266489909)
    return (h2 & 0xffff) * HIGH + (h1 >>> 0) - HALF
  }
  // Systems are few, and their URLs are long, so their hashes are cached.
  const known = new Map<string, number>()
  const short = (text: string): number => {
    const found = known.get(text)
    if (found !== undefined) return found
    const made = shortened(long(text))
    if (known.size >= 2_000) known.clear()
    known.set(text, made)
    return made
  }
  const code =
    caseless.size === 0
      ? long
      : (text: string, system: string): number => long(caseless.has(system) ? text.toLowerCase() : text)
  return { long, short, code, caseless }
}
