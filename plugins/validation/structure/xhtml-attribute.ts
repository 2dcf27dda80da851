/**
 * Checks the attributes of a narrative: their names, and that a browser would not execute their values.
 * https://hl7.org/fhir/R4/narrative.html
 */

import { createNameSet } from './name-set.ts'

export const XHTML = 'http://www.w3.org/1999/xhtml'

/**
 * The attributes in the XPath of txt-1 in the definition of Narrative; also xml:lang, which XHTML recommends beside lang, and
 * xmlns.
 */
const LISTED =
  `abbr accesskey align alt axis bgcolor border cellhalign cellpadding cellspacing cellvalign char charoff charset cite
  class colspan compact coords dir frame headers height href hreflang hspace id lang longdesc name nowrap rel rev
  rowspan rules scope shape span src start style summary tabindex title type valign value vspace width
  xml:lang xmlns`.split(/\s+/)

/**
 * Attributes that txt-1 lacks but the text of narrative.html allows, because it names whole chapters of HTML 4.0: those of font,
 * br, hr, img, map and area (basefont and body are not allowed), and xml:space, which XHTML defines for pre.
 */
const UNLISTED = 'clear color face ismap nohref noshade size usemap xml:space'.split(' ')

export const ATTRIBUTE_NAMES = createNameSet([...LISTED, ...UNLISTED])

const IS_UNLISTED = Uint8Array.from(ATTRIBUTE_NAMES.ends, (name) =>
  name !== undefined && UNLISTED.includes(name) ? 1 : 0,
)

/** Whether txt-1 lacks the attribute, given as the state of ATTRIBUTE_NAMES in which its name ends. */
export const isUnlisted = (attribute: number): boolean => IS_UNLISTED[attribute] === 1

const URLS = new Set(['href', 'src', 'cite', 'longdesc', 'usemap'])

const UNKNOWN = 0
const FREE = 1
const URL = 2
const STYLE = 3
/** How the value of an attribute is checked, by the state in which its name ends. */
const KINDS = Uint8Array.from(ATTRIBUTE_NAMES.ends, (name) => {
  if (name === undefined) return UNKNOWN
  if (name === 'style') return STYLE
  return URLS.has(name) ? URL : FREE
})

const ENTITY = /&(?:(amp)|(lt)|(gt)|(quot)|(apos)|#([0-9]+)|#x([0-9a-fA-F]+));/g
const ACTIVE_SCHEME = /^(?:javascript|vbscript|livescript|mocha|data|blob|filesystem|view-source):/
const IMAGE_DATA = /^data:image\/[a-z0-9.+-]+[;,]/
const ACTIVE_STYLE = /expression\(|javascript:|vbscript:|behaviou?r:|-moz-binding|@import/

/** Bytes that occur in paths of ordinary URLs. */
const IN_PATH = new Uint8Array(256)
for (const unit of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-') IN_PATH[unit.charCodeAt(0)] = 1

/** In DUBIOUS_BEFORE: the byte makes a style dubious, whatever comes after it. */
const ANY = 255
/**
 * By byte: the byte (a letter in lower case) that makes a style dubious if it comes next. The pairs occur in `expression`,
 * `script`, `behavior` and `-moz-binding`, and at the start of a comment. A dubious style is then checked fully.
 */
const DUBIOUS_BEFORE = new Uint8Array(256)
for (const [first, second] of ['xp', 'Xp', 'cr', 'Cr', 'ha', 'Ha', '-m', '/*'] as const)
  DUBIOUS_BEFORE[first!.charCodeAt(0)] = second!.charCodeAt(0)
DUBIOUS_BEFORE.fill(ANY, 0, 32).fill(ANY, 127)
for (const unit of '\\&@') DUBIOUS_BEFORE[unit.charCodeAt(0)] = ANY

/**
 * Quick test for a URL that a browser cannot execute: a relative URL, or one whose scheme begins with h, as no active scheme
 * does. Most URLs pass; the others are checked by `activeFault`, which reads them as a browser would.
 */
const isPlainUrl = (bytes: Uint8Array, from: number, to: number): boolean => {
  let at = from
  while (at < to && IN_PATH[bytes[at]!] === 1) at++
  if (at === to) return true
  const byte = bytes[at]
  return byte === 35 || byte === 63 || (byte === 58 && bytes[from] === 104)
}

/** Quick test for a style that a browser cannot execute. */
const isPlainStyle = (bytes: Uint8Array, from: number, to: number): boolean => {
  for (let at = from; at < to; at++) {
    const second = DUBIOUS_BEFORE[bytes[at]!]!
    if (second !== 0 && (second === ANY || (bytes[at + 1]! | 32) === second)) return false
  }
  return true
}

/** Whether XML allows a code point. */
export const isXmlCharacter = (point: number): boolean =>
  point === 9 ||
  point === 10 ||
  point === 13 ||
  (point >= 0x20 && point <= 0xd7ff) ||
  (point >= 0xe000 && point <= 0xfffd) ||
  (point >= 0x10000 && point <= 0x10ffff)

const character = (point: number): string => (isXmlCharacter(point) ? String.fromCodePoint(point) : '')

/** Replaces the entity and character references of XML by their characters. */
const decode = (text: string): string =>
  text.replace(ENTITY, (_, amp, lt, gt, quot, apos, decimal, hex) => {
    if (amp) return '&'
    if (lt) return '<'
    if (gt) return '>'
    if (quot) return '"'
    if (apos) return "'"
    return character(decimal === undefined ? Number.parseInt(hex, 16) : Number.parseInt(decimal, 10))
  })

/** Removes the comments of CSS. Takes linear time, unlike a regular expression. */
const withoutComments = (text: string): string => {
  let rest = ''
  let from = 0
  for (let at = text.indexOf('/*'); at >= 0; at = text.indexOf('/*', from)) {
    const end = text.indexOf('*/', at + 2)
    if (end < 0) break
    rest += text.slice(from, at)
    from = end + 2
  }
  return rest + text.slice(from)
}

/** The value as a browser reads it: in lower case, without the white space and control characters that a browser skips. */
const bare = (value: string): string => value.replace(/[\0-\x20\x7f-\xa0\u200b\ufeff]+/g, '').toLowerCase()

const styleText = (value: string): string =>
  bare(
    withoutComments(decode(value))
      .replace(/\\([0-9a-fA-F]{1,6})\s?/g, (_, hex) => character(Number.parseInt(hex, 16)))
      .replace(/\\/g, ''),
  )

const activeFault = (name: string, value: string): string | null => {
  if (name === 'style') {
    return ACTIVE_STYLE.test(styleText(value)) ? 'contains something that a browser would execute' : null
  }
  const url = bare(decode(value))
  const isActive = ACTIVE_SCHEME.test(url) && !(name === 'src' && IMAGE_DATA.test(url))
  return isActive ? 'is a URL that a browser would execute' : null
}

/**
 * Why an attribute may not have the value in the bytes from `from` to `to`, as the end of a sentence; null if it may.
 * `attribute`: the state in which its name ends. The references in the value must be well-formed.
 */
export const valueFault = (bytes: Buffer, attribute: number, from: number, to: number): string | null => {
  switch (KINDS[attribute]) {
    case UNKNOWN:
      return 'is not allowed'
    case FREE:
      return null
    case URL:
      if (isPlainUrl(bytes, from, to)) return null
      break
    default:
      if (isPlainStyle(bytes, from, to)) return null
  }
  return activeFault(ATTRIBUTE_NAMES.ends[attribute]!, bytes.toString('utf8', from, to))
}

const XHTML_BYTES = Buffer.from(XHTML, 'latin1')

/** Whether the bytes are the namespace of XHTML. */
export const isXhtml = (bytes: Buffer, from: number, to: number): boolean => {
  if (to - from !== XHTML_BYTES.length) return false
  for (let at = from; at < to; at++) if (bytes[at] !== XHTML_BYTES[at - from]) return false
  return true
}
