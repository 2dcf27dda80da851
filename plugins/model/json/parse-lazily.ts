/** Parses large JSON when it is asked for: a member of an object that is large is parsed when it is first read. */
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

/** An object by its members. `outline` has those of large values in it. */
const objectLazily = (text: string, members: readonly JsonMember[], outline?: Outline): Json => {
  const object: Json = {}
  for (const { key, valueStart, valueEnd } of members) {
    const read = (): unknown => parseLazily(text, valueStart, valueEnd, outline)
    if (valueEnd - valueStart <= SMALL_CHARS) object[key] = read()
    else defineLazily(object, key, read)
  }
  return object
}

const PIECE_CHARS = 1024

/** The text of each member that is short; undefined in the place of one that is not. */
export const piecesOf = (text: string, members: readonly JsonMember[]): readonly (string | undefined)[] =>
  members.map(({ valueStart, valueEnd }) =>
    valueEnd - valueStart <= PIECE_CHARS ? text.slice(valueStart, valueEnd) : undefined,
  )

/** An object whose text may not be there yet: short members come from `pieces`, the text is asked for with the first other. */
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

/** The value that lies in a range of a text that was read strictly. */
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
