/** Reads XHTML byte by byte: white space, names, text, references and comments. */
import type { Buffer } from 'node:buffer'
import { isXmlCharacter } from './xhtml-attribute.ts'

export const BAD_CHARACTER = 'it has a character XML does not allow'

const REFERENCE = /^&(?:amp|lt|gt|quot|apos|#([0-9]{1,7})|#x([0-9a-fA-F]{1,6}));/

/** The byte that marks the end of the text. */
export const END = 0
export const LESS = 60
export const MORE = 62
export const SLASH = 47

export const isSpace = (byte: number | undefined): boolean => byte === 32 || byte === 10 || byte === 13 || byte === 9

/** Bytes of names: letters, digits, `:`, `-`, `_` and `.` */
const IN_NAME = new Uint8Array(256)
for (const name of 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:-_.') IN_NAME[name.charCodeAt(0)] = 1
/** Bytes of text: white space, and all bytes from 32 on except `<` and `&`. */
const IN_TEXT = new Uint8Array(256).fill(1, 32)
for (const space of '\t\n\r') IN_TEXT[space.charCodeAt(0)] = 1
for (const markup of '<&') IN_TEXT[markup.charCodeAt(0)] = 0

/** An index into the bytes, or FAILED with the reason in the notes. Passed as argument and result, since a closure variable is slower. */
export type Position = number
export const FAILED = -1

/** What one scan has found out so far. */
export interface ScanNotes {
  /** The reason why the scan has failed. */
  problem: string
  /** Whether there is text or an image. */
  hasContent: boolean
  /** The first element or attribute that txt-1 lacks; empty if there is none. */
  beyond: string
}

export const fail = (notes: ScanNotes, why: string): Position => {
  notes.problem = why.length > 160 ? `${why.slice(0, 157)}...`.toWellFormed() : why
  return FAILED
}

export const shown = (bytes: Buffer, from: Position, to: Position): string => bytes.toString('latin1', from, to)

export const skipSpace = (bytes: Buffer, from: Position): Position => {
  let at = from
  while (isSpace(bytes[at])) at++
  return at
}

export const skipName = (bytes: Buffer, from: Position): Position => {
  let at = from
  while (IN_NAME[bytes[at]!] === 1) at++
  return at
}

/** Whether a name could go on with the byte. */
export const isInName = (byte: number | undefined): boolean => IN_NAME[byte!] === 1

/** Returns the position after text, and notes whether there is more than white space. */
export const skipText = (notes: ScanNotes, bytes: Buffer, from: Position): Position => {
  let at = from
  if (notes.hasContent) while (IN_TEXT[bytes[at]!] === 1) at++
  else for (let byte = bytes[at]!; IN_TEXT[byte] === 1; byte = bytes[++at]!) if (byte > 32) notes.hasContent = true
  return at
}

/** Returns the position of the quote, or of what may not stand in a quoted value. */
export const skipQuoted = (bytes: Buffer, from: Position, quote: number): Position => {
  let at = from
  while (bytes[at] !== quote && IN_TEXT[bytes[at]!] === 1) at++
  return at
}

/** Returns the position after an entity or character reference of XML. */
export const reference = (notes: ScanNotes, bytes: Buffer, at: Position): Position => {
  const [text, decimal, hex] = REFERENCE.exec(bytes.toString('latin1', at, at + 12)) ?? []
  if (text === undefined) return fail(notes, 'it has an entity that XML does not define; write the character itself')
  const digits = decimal ?? hex
  if (digits !== undefined && !isXmlCharacter(Number.parseInt(digits, decimal === undefined ? 16 : 10))) {
    return fail(notes, 'it refers to a character XML does not allow')
  }
  return at + text.length
}

/** Returns the position after a comment. `less`: the position of its `<`. */
export const comment = (notes: ScanNotes, bytes: Buffer, less: Position): Position => {
  if (bytes[less + 2] !== 45 || bytes[less + 3] !== 45) {
    return fail(notes, 'it has a DOCTYPE or CDATA section, which a narrative may not have')
  }
  const start = less + 4
  let at = start
  while (bytes[at] !== END && !(bytes[at] === 45 && bytes[at + 1] === 45)) {
    const byte = bytes[at++]!
    if (byte < 32 && !isSpace(byte)) return fail(notes, BAD_CHARACTER)
  }
  // Refused: `<!-->` and `<!--->` are complete comments in HTML, so a browser would show what follows.
  const endsEarly = bytes[start] === MORE || (bytes[start] === 45 && bytes[start + 1] === MORE)
  if (bytes[at] === END || bytes[at + 2] !== MORE || endsEarly) {
    return fail(notes, 'it has a comment that is not well-formed')
  }
  return at + 3
}
