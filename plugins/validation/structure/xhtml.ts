/**
 * Checks the narrative. It must be one well-formed XHTML div with allowed elements and attributes only (txt-1), with content to
 * show (txt-2), without anything that a browser would execute, without a DOCTYPE, and with no entities except XML's own. The
 * check scans UTF-8 bytes, which is several times as fast as the characters of a string.
 * https://hl7.org/fhir/R4/narrative.html
 */
import { Buffer } from 'node:buffer'
import { createTagScan } from './tag-scan.ts'
import {
  BAD_CHARACTER,
  END,
  FAILED,
  fail,
  LESS,
  type Position,
  reference,
  type ScanNotes,
  skipSpace,
  skipText,
} from './xhtml-bytes.ts'
import { nameOf } from './xhtml-elements.ts'

/** Maximum size of the scratch buffer that is reused; for a longer narrative one is allocated. */
const KEPT_BYTES = 262_144

const TAG_OR_COMMENT = /<!--[\s\S]*?-->|<(?:[^"'>]|"[^"]*"|'[^']*')*>/g

/**
 * What the scan lets pass and XML does not, in a narrative that is well-formed otherwise: `]]>` in text, and characters that are
 * none. https://www.w3.org/TR/xml/#NT-CharData, #NT-Char
 */
const notInXml = (text: string): string | undefined => {
  if (text.includes('\ufffe') || text.includes('\uffff')) return BAD_CHARACTER
  if (!text.includes(']]>') || !text.replaceAll(TAG_OR_COMMENT, '<').includes(']]>')) return undefined
  return 'its text has "]]>", where ">" has to be written as "&gt;"'
}

export interface NarrativeCheck {
  /** Returns null if the narrative is valid, else a message that begins with `txt-1:` or `txt-2:`. */
  (text: string): string | null
  /** A warning if the last narrative uses an element or attribute that txt-1 lacks; else undefined. */
  readonly unlisted: string | undefined
}

/** Makes a check, which has its own scratch buffer. */
export const createNarrativeCheck = (): NarrativeCheck => {
  const encoder = new TextEncoder()
  const notes: ScanNotes = { problem: '', hasContent: false, beyond: '' }
  const { open, startTag, markup } = createTagScan(notes)
  let kept = Buffer.alloc(4096)

  /** Returns the position of the next `<` after text. Fails if the bytes end before. */
  const content = (bytes: Buffer, from: Position): Position => {
    let at = from
    for (;;) {
      at = skipText(notes, bytes, at)
      if (bytes[at] === LESS) return at
      if (bytes[at] === END) return fail(notes, `<${nameOf(open.elements[open.depth - 1]!)}> is not closed`)
      if (bytes[at] !== 38) return fail(notes, BAD_CHARACTER)
      notes.hasContent = true
      at = reference(notes, bytes, at)
      if (at === FAILED) return FAILED
    }
  }

  const document = (bytes: Buffer): Position => {
    let at = skipSpace(bytes, 0)
    if (bytes[at] !== LESS || (bytes[at + 1]! | 32) < 97) return fail(notes, 'it does not start with <div>')
    at = startTag(bytes, at)
    while (at !== FAILED && open.depth > 0) {
      at = content(bytes, at)
      if (at !== FAILED) at = markup(bytes, at)
    }
    if (at === FAILED) return FAILED
    at = skipSpace(bytes, at)
    return bytes[at] === END ? at : fail(notes, 'there is something after its </div>')
  }

  const check = (text: string): string | null => {
    const needed = text.length * 3 + 1 // at most three bytes for each UTF-16 code unit, and the byte END
    if (kept.length < needed && needed <= KEPT_BYTES) kept = Buffer.alloc(needed)
    const bytes = kept.length < needed ? Buffer.alloc(needed) : kept
    const { written } = encoder.encodeInto(text, bytes)
    bytes[written] = END
    open.depth = 0
    notes.hasContent = false
    notes.beyond = ''
    // If there are as many bytes as characters, the text is ASCII and has no surrogates.
    if ((written === text.length || text.isWellFormed()) && document(bytes) === written) {
      const fault = notInXml(text)
      if (fault !== undefined) return `txt-1: The narrative must be XHTML, but ${fault}.`
      return notes.hasContent ? null : 'txt-2: The narrative has no text and no image to show.'
    }
    // The scanner takes U+0000 for END and stops there, so its own message would be about what is missing behind it.
    if (text.includes('\0') || !text.isWellFormed()) return `txt-1: The narrative must be XHTML, but ${BAD_CHARACTER}.`
    return `txt-1: The narrative must be one XHTML div of basic formatting, but ${notes.problem}.`
  }

  return Object.defineProperty(check, 'unlisted', {
    get: () =>
      notes.beyond === ''
        ? undefined
        : `txt-1: ${notes.beyond} is not in the list of the narrative's rule, though its text allows it; other servers may refuse it`,
  }) as NarrativeCheck
}
