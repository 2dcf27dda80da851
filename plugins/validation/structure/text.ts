/**
 * Checks the formats of string, markdown, code, id, base64Binary, and of uri and the types that specialize it.
 * https://hl7.org/fhir/R4/datatypes.html#primitive
 */
import { Buffer } from 'node:buffer'

/** R4: strings SHALL NOT exceed 1 MB (1024 * 1024 characters). */
export const STRING_LIMIT = 1_048_576

/** Characters up to which a loop is faster than a regular expression. For longer text the expression is faster per character. */
const SHORT = 12

// R4 forbids code points below 32 except tab, line feed and carriage return. A lone surrogate is not a character. SUSPECT also
// matches surrogate pairs, so `isClean` decides about its matches.
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what it looks for
const SUSPECT = /[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]/
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what it looks for
const CONTROL = /[\0-\x08\x0b\x0c\x0e-\x1f]/
const NOT_BLANK = /[^ \t\r\n]/
/** Matches any character that is not visible ASCII. */
const UNUSUAL = /[^!-~]/
const NOT_IN_ID = /[^A-Za-z0-9.-]/

const isLongText = (text: string): boolean => {
  if (text.length > STRING_LIMIT) return false
  if (SUSPECT.test(text) && !isClean(text)) return false
  return text.charCodeAt(0) > 32 || NOT_BLANK.test(text)
}

/** Whether the text has neither forbidden control characters nor lone surrogates. */
export const isClean = (text: string): boolean => !CONTROL.test(text) && text.isWellFormed()

/** string and markdown: at most 1 MB, not only white space, and no forbidden characters. */
export const isText = (text: string): boolean => {
  const length = text.length
  if (length > SHORT) return isLongText(text)
  let blank = true
  for (let at = 0; at < length; at++) {
    const unit = text.charCodeAt(at)
    if (unit > 32) {
      blank = false
      if (unit >= 0xd800 && unit <= 0xdfff) return isLongText(text)
    } else if (unit !== 32 && unit !== 10 && unit !== 13 && unit !== 9) return false
  }
  return !blank
}

/** code: no white space at the ends, and only single white-space characters inside. */
export const isCode = (text: string): boolean => {
  const length = text.length
  if (length === 0 || length > STRING_LIMIT) return false
  if (length > SHORT && !UNUSUAL.test(text)) return true
  let space = true
  for (let at = 0; at < length; at++) {
    const unit = text.charCodeAt(at)
    if (unit > 32) {
      space = false
      if (unit >= 0xd800 && unit <= 0xdfff && !text.isWellFormed()) return false
    } else {
      if (space || (unit !== 32 && unit !== 10 && unit !== 13 && unit !== 9)) return false
      space = true
    }
  }
  return !space
}

/** id: 1 to 64 of A-Z a-z 0-9 - . */
export const isIdFormat = (text: string): boolean => {
  const length = text.length
  if (length === 0 || length > 64) return false
  if (length > SHORT) return !NOT_IN_ID.test(text)
  for (let at = 0; at < length; at++) {
    const unit = text.charCodeAt(at)
    const letter = unit | 32
    if ((letter < 97 || letter > 122) && (unit < 48 || unit > 57) && unit !== 45 && unit !== 46) return false
  }
  return true
}

/** The id of a resource. `.` and `..` are refused, because clients resolve them as path segments of a URL. */
export const isResourceId = (text: string): boolean => isIdFormat(text) && text !== '.' && text !== '..'

/** The id of an element: a string without white space. */
export const isElementId = (text: string): boolean => isText(text) && !SPACE.test(text)

const UUID = /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
/** In a uri the UUID may have upper case; a canonical may append |version and #fragment. */
const UUID_URI = /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?:[|#].*)?$/i
const OID = /^urn:oid:[0-2](?:\.(?:0|[1-9][0-9]*))+$/
const OID_URI = /^urn:oid:[0-2](?:\.(?:0|[1-9][0-9]*))+(?:[|#].*)?$/
const SPACE = /\s/

export const isUuid = (text: string): boolean => UUID.test(text)
export const isOid = (text: string): boolean => OID.test(text)

const isUrn = (text: string): boolean => {
  if (text.startsWith('urn:uuid:')) return UUID_URI.test(text)
  return !text.startsWith('urn:oid:') || OID_URI.test(text)
}

const isUnusualUri = (text: string): boolean => isReference(text) && isUrn(text)

/** Reference.reference, a string with a URL in R4: it must have no white space. The text after urn:uuid: is not checked here. */
export const isReference = (text: string): boolean => text.length > 0 && !SPACE.test(text) && isClean(text)

/** uri, url and canonical: no white space. After urn:uuid: there must be a UUID, and after urn:oid: an OID. */
export const isUri = (text: string): boolean => {
  const length = text.length
  if (length === 0) return false
  if (length > SHORT) {
    if (UNUSUAL.test(text)) return isUnusualUri(text)
  } else {
    for (let at = 0; at < length; at++) {
      const unit = text.charCodeAt(at)
      if (unit > 126) return isUnusualUri(text)
      if (unit <= 32) return false
    }
  }
  return text.charCodeAt(0) !== 117 || isUrn(text)
}

const OTHER = 0
const DIGIT = 1
const PADDING = 2
const SPACE_BETWEEN = 3
const BASE64 = new Uint8Array(256)
for (const unit of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/')
  BASE64[unit.charCodeAt(0)] = DIGIT
BASE64['='.charCodeAt(0)] = PADDING
for (const unit of ' \t\r\n') BASE64[unit.charCodeAt(0)] = SPACE_BETWEEN

/** Characters that are copied and checked at a time, so that a long text is not copied as a whole. A multiple of four. */
const PART = 16_384

/** Whether the text is base64 in groups of four characters. White space may be anywhere. */
const isSpacedBase64 = (text: string): boolean => {
  const bytes = Buffer.allocUnsafe(Math.min(text.length, PART) * 3) // as UTF-8
  let digits = 0
  let padding = 0
  for (let from = 0; from < text.length; from += PART) {
    const length = bytes.write(text.slice(from, from + PART))
    for (let at = 0; at < length; at++) {
      const kind = BASE64[bytes[at]!]!
      if (kind === DIGIT) {
        if (padding > 0) return false
        digits++
      } else if (kind === PADDING) padding++
      else if (kind === OTHER) return false
    }
  }
  return digits > 0 && padding <= 2 && (digits + padding) % 4 === 0
}

/**
 * Whether the text is base64 in groups of four characters without white space. Node's decoder skips invalid characters, so the
 * number of decoded bytes shows whether there was one. Two cases need another test: the decoder accepts `-` and `_`, and of a
 * character above 255 it reads the lower byte.
 */
const isPlainBase64 = (text: string): boolean => {
  if (text.length % 4 !== 0) return false
  const bytes = Buffer.allocUnsafe((Math.min(text.length, PART) / 4) * 3)
  for (let from = 0; from < text.length; from += PART) {
    const part = text.slice(from, from + PART)
    const isLast = from + PART >= text.length
    const padding = !isLast || !part.endsWith('=') ? 0 : part.endsWith('==') ? 2 : 1
    if (bytes.write(part, 'base64') !== (part.length / 4) * 3 - padding) return false
  }
  return Buffer.byteLength(text) === text.length && !text.includes('-') && !text.includes('_')
}

/** base64Binary: groups of four characters; white space is allowed between characters, and `=` only at the end. */
export const isBase64 = (text: string): boolean => (text.length >= 64 && isPlainBase64(text)) || isSpacedBase64(text)
