/** Reads the tags of a narrative, and keeps the stack of the open elements. */
import type { Buffer } from 'node:buffer'
import { attribute, SRC, XMLNS } from './attribute-scan.ts'
import { XHTML } from './xhtml-attribute.ts'
import {
  comment,
  FAILED,
  fail,
  isInName,
  MORE,
  type Position,
  type ScanNotes,
  SLASH,
  skipName,
  skipSpace,
} from './xhtml-bytes.ts'
import { DIV, ELEMENT_NAMES, IMG, isUnlistedElement, nameOf } from './xhtml-elements.ts'

const { next: NEXT_OF_ELEMENT, ends: ELEMENT_OF } = ELEMENT_NAMES

export interface OpenElements {
  /** Stack of the open elements, as the states in which their names end. Items from index `depth` on are no longer valid. */
  readonly elements: number[]
  depth: number
}

export interface TagScan {
  readonly open: OpenElements
  /** Returns the position after a start tag. `less`: the position of its `<`. */
  startTag(bytes: Buffer, less: Position): Position
  /** Returns the position after a tag or a comment. `at`: the position of its `<`. */
  markup(bytes: Buffer, at: Position): Position
}

export const createTagScan = (notes: ScanNotes): TagScan => {
  const open: OpenElements = { elements: [], depth: 0 }
  const attributes: number[] = []

  /** Reads the rest of a start tag after its name: attributes and end. Returns the position after the tag. */
  const restOfTag = (bytes: Buffer, from: Position, element: number): Position => {
    if (open.depth === 0 && element !== DIV)
      return fail(notes, `it is a <${nameOf(element)}> where a <div> is expected`)
    let at = from
    attributes.length = 0
    while (bytes[at] !== MORE && bytes[at] !== SLASH) {
      const next = skipSpace(bytes, at)
      if (next === at) return fail(notes, `the tag <${nameOf(element)}> is not well-formed`)
      at = next
      if (bytes[at] === MORE || bytes[at] === SLASH) break
      at = attribute(notes, attributes, bytes, at, element)
      if (at === FAILED) return FAILED
    }
    if (open.depth === 0 && !attributes.includes(XMLNS)) return fail(notes, `its <div> lacks xmlns="${XHTML}"`)
    if (element === IMG && attributes.includes(SRC)) notes.hasContent = true
    if (bytes[at] === MORE) {
      open.elements[open.depth++] = element
      return at + 1
    }
    return bytes[at + 1] === MORE ? at + 2 : fail(notes, `the tag <${nameOf(element)}> is not well-formed`)
  }

  /** The state in which the last name that `elementName` has read ends. `elementName` returns the position after the name. */
  let element = 0
  const elementName = (bytes: Buffer, from: Position): Position => {
    let at = from
    let state = 0
    for (let next = NEXT_OF_ELEMENT[bytes[at]!]!; next !== 0; next = NEXT_OF_ELEMENT[(next << 8) | bytes[at]!]!) {
      state = next
      at++
    }
    element = state
    return at
  }

  const startTag = (bytes: Buffer, less: Position): Position => {
    const from = less + 1
    const at = elementName(bytes, from)
    const started = element
    if (isInName(bytes[at]) || ELEMENT_OF[started] === undefined) {
      const end = skipName(bytes, at)
      if (end === from) return fail(notes, 'it contains a < that starts no tag')
      return fail(notes, `the element <${bytes.toString('latin1', from, Math.min(end, from + 40))}> is not allowed`)
    }
    if (notes.beyond === '' && isUnlistedElement(started)) notes.beyond = `the element <${nameOf(started)}>`
    if (bytes[at] !== MORE || open.depth === 0) return restOfTag(bytes, at, started)
    open.elements[open.depth++] = started
    return at + 1
  }

  const endTag = (bytes: Buffer, less: Position): Position => {
    const expected = open.elements[open.depth - 1]!
    let at = elementName(bytes, less + 2)
    if (element !== expected) return fail(notes, `<${nameOf(expected)}> is not closed`)
    if (bytes[at] !== MORE) at = skipSpace(bytes, at)
    if (bytes[at] !== MORE) return fail(notes, `<${nameOf(expected)}> is not closed`)
    open.depth--
    return at + 1
  }

  const markup = (bytes: Buffer, at: Position): Position => {
    switch (bytes[at + 1]) {
      case SLASH:
        return endTag(bytes, at)
      case 33:
        return comment(notes, bytes, at)
      case 63:
        return fail(notes, 'it has a processing instruction, which a narrative may not have')
      default:
        return startTag(bytes, at)
    }
  }

  return { open, startTag, markup }
}
