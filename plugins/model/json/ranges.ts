/** Finds values in JSON text and replaces them as text. JSON.parse must have accepted the text before. */
import { endOfString, isSpace, type JsonMember } from './scan.ts'

/** Half-open range of a text. */
export interface TextRange {
  readonly start: number
  readonly end: number
}

const QUOTE = 34
const COMMA = 44
const OPEN_ARRAY = 91
const CLOSE_ARRAY = 93
const OPEN_OBJECT = 123
const CLOSE_OBJECT = 125

export const skipSpace = (text: string, start: number): number => {
  let at = start
  while (isSpace(text.charCodeAt(at))) at += 1
  return at
}

/** Index after the value that starts at `start`. */
export const endOfValue = (text: string, start: number): number => {
  const first = text.charCodeAt(start)
  if (first === QUOTE) return endOfString(text, start)
  if (first !== OPEN_OBJECT && first !== OPEN_ARRAY) {
    let at = start
    for (; at < text.length; at += 1) {
      const code = text.charCodeAt(at)
      if (code === COMMA || code === CLOSE_OBJECT || code === CLOSE_ARRAY || isSpace(code)) break
    }
    return at
  }
  let depth = 0
  for (let at = start; at < text.length; ) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      at = endOfString(text, at)
      continue
    }
    at += 1
    if (code === OPEN_OBJECT || code === OPEN_ARRAY) depth += 1
    else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) {
      depth -= 1
      if (depth === 0) return at
    }
  }
  return text.length
}

/** The key in a range that includes its quotes. A key may be spelled with escapes: `"\u0069d"` is `id`. */
export const keyAt = (text: string, start: number, end: number): string => {
  const raw = text.slice(start + 1, end - 1)
  return raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw
}

/** Members of the object that starts at `start`. */
export const membersAt = (text: string, start: number): JsonMember[] => {
  const members: JsonMember[] = []
  for (let at = skipSpace(text, start + 1); text.charCodeAt(at) === QUOTE; ) {
    const keyEnd = endOfString(text, at)
    const valueStart = skipSpace(text, skipSpace(text, keyEnd) + 1)
    const valueEnd = endOfValue(text, valueStart)
    members.push({ key: keyAt(text, at, keyEnd), keyStart: at, valueStart, valueEnd })
    const next = skipSpace(text, valueEnd)
    if (text.charCodeAt(next) !== COMMA) break
    at = skipSpace(text, next + 1)
  }
  return members
}

/** Items of the array that starts at `start`. */
export const itemsAt = (text: string, start: number): TextRange[] => {
  const items: TextRange[] = []
  let at = skipSpace(text, start + 1)
  if (text.charCodeAt(at) === CLOSE_ARRAY) return items
  for (;;) {
    const end = endOfValue(text, at)
    items.push({ start: at, end })
    const next = skipSpace(text, end)
    if (text.charCodeAt(next) !== COMMA) return items
    at = skipSpace(text, next + 1)
  }
}

export interface TextEdit extends TextRange {
  readonly text: string
}

/** The text with the edits applied. They must be in ascending order and must not overlap. */
export const applyEdits = (text: string, edits: readonly TextEdit[]): string => {
  let out = ''
  let at = 0
  for (const edit of edits) {
    out += text.slice(at, edit.start) + edit.text
    at = edit.end
  }
  return out + text.slice(at)
}
