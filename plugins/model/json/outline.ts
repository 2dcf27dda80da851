/**
 * Finds where the members and items of a large JSON text lie. A worker thread makes the outline, so that the main thread can
 * parse single parts without scanning the whole text.
 */

import { itemsAt, membersAt } from './ranges.ts'
import type { JsonMember } from './scan.ts'

/** The key of both maps is the index in the text at which an object or array begins. */
export interface Outline {
  readonly members: ReadonlyMap<number, readonly JsonMember[]>
  /** Start and end of each item in turn, as half-open ranges: start 0, end 0, start 1, end 1 … */
  readonly items: ReadonlyMap<number, Float64Array>
}

export const SMALL_CHARS = 16 * 1024 // a value up to this length has no outline and is parsed as a whole
const MAX_DEPTH = 8 // levels with an outline: each level scans its part of the text again

/** The outline of the first object in the text. */
export const outlineOf = (text: string): Outline => {
  const members = new Map<number, readonly JsonMember[]>()
  const items = new Map<number, Float64Array>()
  const add = (start: number, end: number, depth: number): void => {
    if (end - start <= SMALL_CHARS || depth > MAX_DEPTH) return
    if (text[start] === '{') {
      const found = membersAt(text, start)
      members.set(start, found)
      for (const { valueStart, valueEnd } of found) add(valueStart, valueEnd, depth + 1)
    } else if (text[start] === '[') {
      const found = itemsAt(text, start)
      items.set(start, Float64Array.from(found.flatMap(({ start: from, end: to }) => [from, to])))
      for (const { start: from, end: to } of found) add(from, to, depth + 1)
    }
  }
  add(text.indexOf('{'), text.length, 0)
  return { members, items }
}
