/**
 * Finds string members of a JSON object in its bytes, without parsing the rest: the resourceType of a large body, or the data
 * of a large Binary. Of two members with the same name the first one wins. Names spelled with escapes are not found.
 */
import { setImmediate } from 'node:timers/promises'

/** Half-open byte range of a string, without its quotes. */
export interface Span {
  readonly start: number
  readonly end: number
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const TOKENS_OF_A_TURN = 500_000 // a token is a string or a byte outside of strings; this many take some milliseconds

const isSpace = (code: number | undefined): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09

const skipSpace = (bytes: Buffer, from: number): number => {
  let at = from
  while (isSpace(bytes[at])) at += 1
  return at
}

/** Index of the quote that closes the string that begins at `start`; the length of `bytes` if there is none. */
const endOfString = (bytes: Buffer, start: number): number => {
  for (let at = bytes.indexOf(QUOTE, start + 1); at !== -1; at = bytes.indexOf(QUOTE, at + 1)) {
    let slashes = 0
    while (bytes[at - 1 - slashes] === BACKSLASH) slashes += 1
    if (slashes % 2 === 0) return at
  }
  return bytes.length
}

/**
 * The members among `names` whose value is a string, by name. Stops when all are found. For broken JSON the result has the
 * members before the error.
 */
export const topLevelStrings = async (bytes: Buffer, names: readonly string[]): Promise<ReadonlyMap<string, Span>> => {
  const found = new Map<string, Span>()
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
  let at = skipSpace(bytes, hasMark ? 3 : 0)
  if (bytes[at] !== 0x7b /* { */) return found
  let depth = 0
  for (let tokens = 1; at < bytes.length; tokens += 1) {
    if (tokens % TOKENS_OF_A_TURN === 0) await setImmediate()
    const code = bytes[at]
    if (code === 0x7b /* { */ || code === 0x5b /* [ */) depth += 1
    else if (code === 0x7d /* } */ || code === 0x5d /* ] */) depth -= 1
    if (depth === 0) return found
    if (code !== QUOTE) {
      at += 1
      continue
    }
    const end = endOfString(bytes, at)
    const next = skipSpace(bytes, end + 1)
    const name =
      depth === 1 && bytes[next] === 0x3a /* : */ ? bytes.toString('latin1', at + 1, Math.min(end, at + 65)) : ''
    at = end + 1
    if (!names.includes(name) || found.has(name)) continue
    const start = skipSpace(bytes, next + 1)
    if (bytes[start] !== QUOTE) continue
    const last = endOfString(bytes, start)
    if (last === bytes.length) return found
    found.set(name, { start: start + 1, end: last })
    if (found.size === names.length) return found
    at = last + 1
  }
  return found
}
