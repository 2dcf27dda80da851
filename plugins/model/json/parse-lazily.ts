/** Parses large JSON on demand: a large member of an object is parsed when its property is first read. */
import { type Outline, SMALL_CHARS } from './outline.ts'
import type { JsonMember } from './scan.ts'

type Json = Record<string, unknown>

const defineLazily = (object: Json, key: string, read: () => unknown): void => {
  const define = (descriptor: PropertyDescriptor): void =>
    void Object.defineProperty(object, key, { enumerable: true, configurable: true, ...descriptor })
  const set = (value: unknown): void => define({ value, writable: true })
  define({
    get() {
      const value = read()
      set(value)
      return value
    },
    set,
  })
}

/** An object with these members. `outline` says where the members of its large values lie. */
const objectLazily = (text: string, members: readonly JsonMember[], outline?: Outline): Json => {
  const object: Json = {}
  for (const { key, valueStart, valueEnd } of members) {
    const read = (): unknown => parseLazily(text, valueStart, valueEnd, outline)
    if (valueEnd - valueStart <= SMALL_CHARS) object[key] = read()
    else defineLazily(object, key, read)
  }
  return object
}

const PIECE_CHARS = 1024 // longest value that is copied as a piece

/** For each member the text of its value, or undefined if that is longer than PIECE_CHARS. */
export const piecesOf = (text: string, members: readonly JsonMember[]): readonly (string | undefined)[] =>
  members.map(({ valueStart, valueEnd }) =>
    valueEnd - valueStart <= PIECE_CHARS ? text.slice(valueStart, valueEnd) : undefined,
  )

/**
 * An object whose text may not be decoded yet: short members are parsed from `pieces`; `text` is called when another member
 * is read.
 */
export const objectFromPieces = (
  text: () => string,
  members: readonly JsonMember[],
  pieces: readonly (string | undefined)[],
  outline?: Outline,
): Json => {
  const object: Json = {}
  for (const [at, { key, valueStart, valueEnd }] of members.entries()) {
    const piece = pieces[at]
    if (piece !== undefined) object[key] = JSON.parse(piece)
    else defineLazily(object, key, () => parseLazily(text(), valueStart, valueEnd, outline))
  }
  return object
}

/** The value in a range of the text, which `parseResource` must have accepted before. */
export const parseLazily = (text: string, start: number, end: number, outline?: Outline): unknown => {
  const members = outline?.members.get(start)
  if (members !== undefined) return objectLazily(text, members, outline)
  const items = outline?.items.get(start)
  if (items === undefined) return JSON.parse(text.slice(start, end))
  const list: unknown[] = []
  for (let at = 0; at < items.length; at += 2)
    list.push(parseLazily(text, items[at] as number, items[at + 1] as number, outline))
  return list
}
