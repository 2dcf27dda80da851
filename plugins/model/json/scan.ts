/**
 * Scans JSON text without building values: finds where the members of the outermost object lie, counts the members of all
 * objects, and measures the depth. JSON.parse checks the grammar; for broken text the result means nothing.
 */

/** One member of an object: `"key": value`, as half-open ranges of the text. */
export interface JsonMember {
  readonly key: string
  readonly keyStart: number
  readonly valueStart: number
  readonly valueEnd: number
}

export interface Scan {
  /** Members of the outermost object, in order. */
  readonly members: readonly JsonMember[]
  /** Number of members of all objects. JSON.parse keeps only the last of two equal keys, so a smaller count there means a duplicate. */
  readonly keys: number
  readonly depth: number
}

const QUOTE = 34
const BACKSLASH = 92

/** Index after the closing quote of the string that starts at `start`, or the end of the text. */
export const endOfString = (text: string, start: number): number => {
  let at = start + 1
  for (;;) {
    const quote = text.indexOf('"', at)
    if (quote === -1) return text.length
    let before = quote - 1
    while (text.charCodeAt(before) === BACKSLASH) before -= 1
    // An even number of backslashes before it: the quote is not escaped.
    if ((quote - before) % 2 === 1) return quote + 1
    at = quote + 1
  }
}

/** Whether a character code is white space of RFC 8259. */
export const isSpace = (code: number): boolean => code === 32 || code === 10 || code === 13 || code === 9

const trimEnd = (text: string, start: number, end: number): number => {
  let at = end
  while (at > start && isSpace(text.charCodeAt(at - 1))) at -= 1
  return at
}

/** The first member of the outermost object with this key; undefined where there is none. Reads no further than its end. */
export const findMember = (text: string, key: string): JsonMember | undefined => {
  const last = scan(text, Number.POSITIVE_INFINITY, 0, key).members.at(-1)
  return last?.key === key ? last : undefined
}

/**
 * Scans the object that starts at or after `start`. Stops as soon as it nests deeper than `mostDepth`, and after the
 * outermost member with the key `until`.
 */
export const scan = (text: string, mostDepth: number, start = 0, until?: string): Scan => {
  const members: JsonMember[] = []
  const { length } = text
  let keys = 0
  let depth = 0
  let deepest = 0
  let stringStart = 0
  let stringEnd = 0
  let keyStart = -1
  let keyEnd = -1
  let valueStart = -1
  const endMember = (at: number): void => {
    if (valueStart === -1) return
    const raw = text.slice(keyStart + 1, keyEnd - 1)
    members.push({
      key: raw.includes('\\') ? decodeKey(raw) : raw,
      keyStart,
      valueStart,
      valueEnd: trimEnd(text, valueStart, at),
    })
    valueStart = -1
  }
  for (let at = start; at < length; ) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      stringStart = at
      at = endOfString(text, at)
      stringEnd = at
      continue
    }
    if (code === 58 /* : */) {
      keys += 1
      if (depth === 1) {
        keyStart = stringStart
        keyEnd = stringEnd
        valueStart = at + 1
        while (valueStart < length && isSpace(text.charCodeAt(valueStart))) valueStart += 1
      }
    } else if (code === 123 /* { */ || code === 91 /* [ */) {
      depth += 1
      if (depth > deepest) deepest = depth
      if (depth > mostDepth) return { members, keys, depth }
    } else if (code === 125 /* } */ || code === 93 /* ] */) {
      if (depth === 1) endMember(at)
      depth -= 1
      if (depth === 0 && start > 0) break
    } else if (code === 44 /* , */ && depth === 1) {
      endMember(at)
      if (until !== undefined && members.at(-1)?.key === until) break
    }
    at += 1
  }
  return { members, keys, depth: deepest }
}

/** Decodes the escapes of a key: `"\u0069d"` is `id`. */
const decodeKey = (raw: string): string => {
  try {
    return JSON.parse(`"${raw}"`) as string
  } catch {
    return raw
  }
}
