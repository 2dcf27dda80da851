/**
 * Checks the narrative. It must be one well-formed XHTML div with allowed elements and attributes only (txt-1), with content to
 * show (txt-2), without anything that a browser would execute, without a DOCTYPE, and with no entities except XML's own. The
 * check scans UTF-8 bytes, which is several times as fast as the characters of a string.
 * https://hl7.org/fhir/R4/narrative.html
 */
import { Buffer } from 'node:buffer'
import { createNameSet, stateOf } from './name-set.ts'
import { ATTRIBUTE_NAMES, isUnlisted, isXhtml, isXmlCharacter, valueFault, XHTML } from './xhtml-attribute.ts'

const BAD_CHARACTER = 'it has a character XML does not allow'

/** The elements in the XPath of txt-1 in the definition of Narrative. */
const LISTED = `a abbr acronym b big blockquote br caption cite code col colgroup dd dfn div dl dt em h1 h2 h3 h4 h5
  h6 hr i img li ol p pre q samp small span strong sub sup table tbody td tfoot th thead tr tt ul var`.split(/\s+/)

/**
 * Elements that txt-1 lacks but the text of narrative.html allows: it names the chapters 7 to 11 of HTML 4.0 without ins and
 * del, chapter 15, and image maps. Of the elements that HTML 4.0 deprecates only those that format text are allowed.
 */
const UNLISTED = 'address area bdo font kbd map s strike u'.split(' ')

const NAMES = createNameSet([...LISTED, ...UNLISTED])
const { next: NEXT_OF_ELEMENT, ends: ELEMENT_OF } = NAMES
const DIV = stateOf(NAMES, 'div')
const IMG = stateOf(NAMES, 'img')
const NEXT_OF_ATTRIBUTE = ATTRIBUTE_NAMES.next
const IS_UNLISTED = Uint8Array.from(ELEMENT_OF, (name) => (name !== undefined && UNLISTED.includes(name) ? 1 : 0))
const SRC = stateOf(ATTRIBUTE_NAMES, 'src')
const XMLNS = stateOf(ATTRIBUTE_NAMES, 'xmlns')

/** Maximum size of the scratch buffer that is reused; for a longer narrative one is allocated. */
const KEPT_BYTES = 262_144

const REFERENCE = /^&(?:amp|lt|gt|quot|apos|#([0-9]{1,7})|#x([0-9a-fA-F]{1,6}));/

/** The byte that marks the end of the text. */
const END = 0
const LESS = 60
const MORE = 62
const SLASH = 47

const isSpace = (byte: number | undefined): boolean => byte === 32 || byte === 10 || byte === 13 || byte === 9

/** Bytes of names: letters, digits, `:`, `-`, `_` and `.` */
const IN_NAME = new Uint8Array(256)
for (const name of 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:-_.') IN_NAME[name.charCodeAt(0)] = 1
/** Bytes of text: white space, and all bytes from 32 on except `<` and `&`. */
const IN_TEXT = new Uint8Array(256).fill(1, 32)
for (const space of '\t\n\r') IN_TEXT[space.charCodeAt(0)] = 1
for (const markup of '<&') IN_TEXT[markup.charCodeAt(0)] = 0

/** An index into the bytes, or FAILED with the reason in `problem`. Passed as argument and result, since a closure variable is slower. */
type Position = number
const FAILED = -1

export interface NarrativeCheck {
  /** Returns null if the narrative is valid, else a message that begins with `txt-1:` or `txt-2:`. */
  (text: string): string | null
  /** A warning if the last narrative uses an element or attribute that txt-1 lacks; else undefined. */
  readonly unlisted: string | undefined
}

/** Makes a check, which has its own scratch buffer. */
export const createNarrativeCheck = (): NarrativeCheck => {
  const encoder = new TextEncoder()
  /** Stack of the open elements, as the states in which their names end. Items from index `depth` on are no longer valid. */
  const open: number[] = []
  let depth = 0
  const attributes: number[] = []
  let kept = Buffer.alloc(4096)
  let problem = ''
  let hasContent = false
  /** Describes the first element or attribute that txt-1 lacks; empty if there is none. */
  let beyond = ''

  const fail = (why: string): Position => {
    problem = why.length > 160 ? `${why.slice(0, 157)}...`.toWellFormed() : why
    return FAILED
  }

  const shown = (bytes: Buffer, from: Position, to: Position): string => bytes.toString('latin1', from, to)
  const nameOf = (element: number): string => ELEMENT_OF[element]!

  const skipSpace = (bytes: Buffer, from: Position): Position => {
    let at = from
    while (isSpace(bytes[at])) at++
    return at
  }

  const skipName = (bytes: Buffer, from: Position): Position => {
    let at = from
    while (IN_NAME[bytes[at]!] === 1) at++
    return at
  }

  /** Returns the position after an entity or character reference of XML. */
  const reference = (bytes: Buffer, at: Position): Position => {
    const [text, decimal, hex] = REFERENCE.exec(bytes.toString('latin1', at, at + 12)) ?? []
    if (text === undefined) return fail('it has an entity that XML does not define; write the character itself')
    const digits = decimal ?? hex
    if (digits !== undefined && !isXmlCharacter(Number.parseInt(digits, decimal === undefined ? 16 : 10))) {
      return fail('it refers to a character XML does not allow')
    }
    return at + text.length
  }

  /** Returns the position of the next `<` after text. Fails if the bytes end before. */
  const content = (bytes: Buffer, from: Position): Position => {
    let at = from
    for (;;) {
      if (hasContent) while (IN_TEXT[bytes[at]!] === 1) at++
      else for (let byte = bytes[at]!; IN_TEXT[byte] === 1; byte = bytes[++at]!) if (byte > 32) hasContent = true
      if (bytes[at] === LESS) return at
      if (bytes[at] === END) return fail(`<${nameOf(open[depth - 1]!)}> is not closed`)
      if (bytes[at] !== 38) return fail(BAD_CHARACTER)
      hasContent = true
      at = reference(bytes, at)
      if (at === FAILED) return FAILED
    }
  }

  /** Returns the position of the closing quote of an attribute's value. `start` and `end`: range of the attribute's name. */
  const quoted = (bytes: Buffer, from: Position, quote: number, start: Position, end: Position): Position => {
    let at = from
    for (;;) {
      while (bytes[at] !== quote && IN_TEXT[bytes[at]!] === 1) at++
      if (bytes[at] === quote) return at
      if (bytes[at] === END) return fail(`the value of the attribute ${shown(bytes, start, end)} does not end`)
      if (bytes[at] === LESS) return fail(`the value of the attribute ${shown(bytes, start, end)} contains <`)
      if (bytes[at] !== 38) return fail(BAD_CHARACTER)
      at = reference(bytes, at)
      if (at === FAILED) return FAILED
    }
  }

  const attribute = (bytes: Buffer, from: Position, element: number): Position => {
    let at = from
    let state = 0
    for (let next = NEXT_OF_ATTRIBUTE[bytes[at]!]!; next !== 0; next = NEXT_OF_ATTRIBUTE[(next << 8) | bytes[at]!]!) {
      state = next
      at++
    }
    if (IN_NAME[bytes[at]!] === 1) {
      state = 0
      at = skipName(bytes, at)
    }
    const end = at
    if (end === from) return fail(`the tag <${nameOf(element)}> is not well-formed`)
    at = skipSpace(bytes, at)
    if (bytes[at] !== 61) return fail(`the attribute ${shown(bytes, from, end)} of <${nameOf(element)}> has no value`)
    at = skipSpace(bytes, at + 1)
    const quote = bytes[at]!
    if (quote !== 34 && quote !== 39) {
      return fail(`the value of the attribute ${shown(bytes, from, end)} of <${nameOf(element)}> is not quoted`)
    }
    const start = at + 1
    at = quoted(bytes, start, quote, from, end)
    if (at === FAILED) return FAILED
    if (attributes.includes(state))
      return fail(`<${nameOf(element)}> has the attribute ${shown(bytes, from, end)} twice`)
    attributes.push(state)
    if (state === XMLNS) {
      return isXhtml(bytes, start, at) ? at + 1 : fail(`<${nameOf(element)}> is not in the namespace ${XHTML}`)
    }
    if (beyond === '' && isUnlisted(state)) beyond = `the attribute ${shown(bytes, from, end)}`
    const fault = valueFault(bytes, state, start, at)
    return fault === null ? at + 1 : fail(`the attribute ${shown(bytes, from, end)} of <${nameOf(element)}> ${fault}`)
  }

  /** Reads the rest of a start tag after its name: attributes and end. Returns the position after the tag. */
  const restOfTag = (bytes: Buffer, from: Position, element: number): Position => {
    if (depth === 0 && element !== DIV) return fail(`it is a <${nameOf(element)}> where a <div> is expected`)
    let at = from
    attributes.length = 0
    while (bytes[at] !== MORE && bytes[at] !== SLASH) {
      const next = skipSpace(bytes, at)
      if (next === at) return fail(`the tag <${nameOf(element)}> is not well-formed`)
      at = next
      if (bytes[at] === MORE || bytes[at] === SLASH) break
      at = attribute(bytes, at, element)
      if (at === FAILED) return FAILED
    }
    if (depth === 0 && !attributes.includes(XMLNS)) return fail(`its <div> lacks xmlns="${XHTML}"`)
    if (element === IMG && attributes.includes(SRC)) hasContent = true
    if (bytes[at] === MORE) {
      open[depth++] = element
      return at + 1
    }
    return bytes[at + 1] === MORE ? at + 2 : fail(`the tag <${nameOf(element)}> is not well-formed`)
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
    if (IN_NAME[bytes[at]!] === 1 || ELEMENT_OF[started] === undefined) {
      const end = skipName(bytes, at)
      if (end === from) return fail('it contains a < that starts no tag')
      return fail(`the element <${bytes.toString('latin1', from, Math.min(end, from + 40))}> is not allowed`)
    }
    if (IS_UNLISTED[started] === 1 && beyond === '') beyond = `the element <${nameOf(started)}>`
    if (bytes[at] !== MORE || depth === 0) return restOfTag(bytes, at, started)
    open[depth++] = started
    return at + 1
  }

  const endTag = (bytes: Buffer, less: Position): Position => {
    const expected = open[depth - 1]!
    let at = elementName(bytes, less + 2)
    if (element !== expected) return fail(`<${nameOf(expected)}> is not closed`)
    if (bytes[at] !== MORE) at = skipSpace(bytes, at)
    if (bytes[at] !== MORE) return fail(`<${nameOf(expected)}> is not closed`)
    depth--
    return at + 1
  }

  const comment = (bytes: Buffer, less: Position): Position => {
    if (bytes[less + 2] !== 45 || bytes[less + 3] !== 45) {
      return fail('it has a DOCTYPE or CDATA section, which a narrative may not have')
    }
    const start = less + 4
    let at = start
    while (bytes[at] !== END && !(bytes[at] === 45 && bytes[at + 1] === 45)) {
      const byte = bytes[at++]!
      if (byte < 32 && !isSpace(byte)) return fail(BAD_CHARACTER)
    }
    // Refused: `<!-->` and `<!--->` are complete comments in HTML, so a browser would show what follows.
    const endsEarly = bytes[start] === MORE || (bytes[start] === 45 && bytes[start + 1] === MORE)
    if (bytes[at] === END || bytes[at + 2] !== MORE || endsEarly) {
      return fail('it has a comment that is not well-formed')
    }
    return at + 3
  }

  const markup = (bytes: Buffer, at: Position): Position => {
    switch (bytes[at + 1]) {
      case SLASH:
        return endTag(bytes, at)
      case 33:
        return comment(bytes, at)
      case 63:
        return fail('it has a processing instruction, which a narrative may not have')
      default:
        return startTag(bytes, at)
    }
  }

  const document = (bytes: Buffer): Position => {
    let at = skipSpace(bytes, 0)
    if (bytes[at] !== LESS || (bytes[at + 1]! | 32) < 97) return fail('it does not start with <div>')
    at = startTag(bytes, at)
    while (at !== FAILED && depth > 0) {
      at = content(bytes, at)
      if (at !== FAILED) at = markup(bytes, at)
    }
    if (at === FAILED) return FAILED
    at = skipSpace(bytes, at)
    return bytes[at] === END ? at : fail('there is something after its </div>')
  }

  const check = (text: string): string | null => {
    const needed = text.length * 3 + 1 // at most three bytes for each UTF-16 code unit, and the byte END
    if (kept.length < needed && needed <= KEPT_BYTES) kept = Buffer.alloc(needed)
    const bytes = kept.length < needed ? Buffer.alloc(needed) : kept
    const { written } = encoder.encodeInto(text, bytes)
    bytes[written] = END
    depth = 0
    hasContent = false
    beyond = ''
    // If there are as many bytes as characters, the text is ASCII and has no surrogates.
    if ((written === text.length || text.isWellFormed()) && document(bytes) === written)
      return hasContent ? null : 'txt-2: The narrative has no text and no image to show.'
    // U+0000 has stopped the scan, because it looks like END.
    if (text.includes('\0') || !text.isWellFormed()) return `txt-1: The narrative must be XHTML, but ${BAD_CHARACTER}.`
    return `txt-1: The narrative must be one XHTML div of basic formatting, but ${problem}.`
  }

  return Object.defineProperty(check, 'unlisted', {
    get: () =>
      beyond === ''
        ? undefined
        : `txt-1: ${beyond} is not in the list of the narrative's rule, though its text allows it; other servers may refuse it`,
  }) as NarrativeCheck
}
