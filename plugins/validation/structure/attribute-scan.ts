/** Reads the attributes of a start tag, and checks their names and values. */
import type { Buffer } from 'node:buffer'
import { stateOf } from './name-set.ts'
import { ATTRIBUTE_NAMES, isUnlisted, isXhtml, valueFault, XHTML } from './xhtml-attribute.ts'
import {
  BAD_CHARACTER,
  END,
  FAILED,
  fail,
  isInName,
  LESS,
  type Position,
  reference,
  type ScanNotes,
  shown,
  skipName,
  skipQuoted,
  skipSpace,
} from './xhtml-bytes.ts'
import { nameOf } from './xhtml-elements.ts'

const NEXT_OF_ATTRIBUTE = ATTRIBUTE_NAMES.next
export const SRC = stateOf(ATTRIBUTE_NAMES, 'src')
export const XMLNS = stateOf(ATTRIBUTE_NAMES, 'xmlns')

/** Returns the position of the closing quote of an attribute's value. `start` and `end`: range of the attribute's name. */
const quoted = (
  notes: ScanNotes,
  bytes: Buffer,
  from: Position,
  quote: number,
  start: Position,
  end: Position,
): Position => {
  let at = from
  for (;;) {
    at = skipQuoted(bytes, at, quote)
    if (bytes[at] === quote) return at
    if (bytes[at] === END) return fail(notes, `the value of the attribute ${shown(bytes, start, end)} does not end`)
    if (bytes[at] === LESS) return fail(notes, `the value of the attribute ${shown(bytes, start, end)} contains <`)
    if (bytes[at] !== 38) return fail(notes, BAD_CHARACTER)
    at = reference(notes, bytes, at)
    if (at === FAILED) return FAILED
  }
}

/**
 * Reads an attribute of the element, and returns the position after it. Adds the state in which its name ends to `attributes`,
 * which holds those of the attributes before it in the same tag.
 */
export const attribute = (
  notes: ScanNotes,
  attributes: number[],
  bytes: Buffer,
  from: Position,
  element: number,
): Position => {
  let at = from
  let state = 0
  for (let next = NEXT_OF_ATTRIBUTE[bytes[at]!]!; next !== 0; next = NEXT_OF_ATTRIBUTE[(next << 8) | bytes[at]!]!) {
    state = next
    at++
  }
  if (isInName(bytes[at])) {
    state = 0
    at = skipName(bytes, at)
  }
  const end = at
  if (end === from) return fail(notes, `the tag <${nameOf(element)}> is not well-formed`)
  at = skipSpace(bytes, at)
  if (bytes[at] !== 61)
    return fail(notes, `the attribute ${shown(bytes, from, end)} of <${nameOf(element)}> has no value`)
  at = skipSpace(bytes, at + 1)
  const quote = bytes[at]!
  if (quote !== 34 && quote !== 39) {
    return fail(notes, `the value of the attribute ${shown(bytes, from, end)} of <${nameOf(element)}> is not quoted`)
  }
  const start = at + 1
  at = quoted(notes, bytes, start, quote, from, end)
  if (at === FAILED) return FAILED
  if (attributes.includes(state))
    return fail(notes, `<${nameOf(element)}> has the attribute ${shown(bytes, from, end)} twice`)
  attributes.push(state)
  if (state === XMLNS) {
    return isXhtml(bytes, start, at) ? at + 1 : fail(notes, `<${nameOf(element)}> is not in the namespace ${XHTML}`)
  }
  if (notes.beyond === '' && isUnlisted(state)) notes.beyond = `the attribute ${shown(bytes, from, end)}`
  const fault = valueFault(bytes, state, start, at)
  return fault === null
    ? at + 1
    : fail(notes, `the attribute ${shown(bytes, from, end)} of <${nameOf(element)}> ${fault}`)
}
