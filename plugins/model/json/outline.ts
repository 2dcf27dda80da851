/**
 * Where the parts of a large JSON text lie, down to parts that are small: made by a thread, so that the main thread can
 * parse what it needs and pass over the rest.
 */

import { itemsAt, membersAt } from './ranges.ts'
import type { JsonMember } from './scan.ts'

/** By the index at which an object or array begins. */
export interface Outline {
  readonly members: ReadonlyMap<number, readonly JsonMember[]>
  /** First and last index of each item, one after the other. */
  readonly items: ReadonlyMap<number, Float64Array>
}

export const SMALL_CHARS = 16 * 1024 // what is parsed at once
const MAX_DEPTH = 8 // each level is gone through again

/** Of the object that lies in a text. */
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
