/**
 * Which attributes a narrative may have and with what values: nothing a browser would run.
 * https://hl7.org/fhir/R4/narrative.html
 */

/** The XPath of txt-1 in the definition of Narrative; with xml:lang, which XHTML wants beside lang. */
const ATTRIBUTES = new Set(
  `abbr accesskey align alt axis bgcolor border cellhalign cellpadding cellspacing cellvalign char charoff charset cite
  class colspan compact coords dir frame headers height href hreflang hspace id lang longdesc name nowrap rel rev
  rowspan rules scope shape span src start style summary tabindex title type valign value vspace width
  xml:lang`.split(/\s+/),
)
const URLS = new Set(['href', 'src', 'cite', 'longdesc'])

const ENTITY = /&(?:(amp)|(lt)|(gt)|(quot)|(apos)|#([0-9]+)|#x([0-9a-fA-F]+));/g
const ACTIVE_SCHEME = /^(?:javascript|vbscript|livescript|mocha|data|blob|filesystem|view-source):/
const IMAGE_DATA = /^data:image\/[a-z0-9.+-]+[;,]/
const ACTIVE_STYLE = /expression\(|javascript:|vbscript:|behaviou?r:|-moz-binding|@import/

/** Most values are plainly harmless; the rest is looked at as a browser would read it. */
const PLAIN_URL = /^(?:https?:|#|mailto:|[A-Za-z0-9_./-]*(?:[?#]|$))/
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what it looks for
const DUBIOUS_STYLE = /[\\&@\0-\x1f\x7f-\uffff]|\/\*|expr|script|behav|-moz/i

/** A code point XML allows. */
export const isXmlCharacter = (point: number): boolean =>
  point === 9 ||
  point === 10 ||
  point === 13 ||
  (point >= 0x20 && point <= 0xd7ff) ||
  (point >= 0xe000 && point <= 0xfffd) ||
  (point >= 0x10000 && point <= 0x10ffff)

const character = (point: number): string => (isXmlCharacter(point) ? String.fromCodePoint(point) : '')

/** Replaces XML's references. */
const decode = (text: string): string =>
  text.replace(ENTITY, (_, amp, lt, gt, quot, apos, decimal, hex) => {
    if (amp) return '&'
    if (lt) return '<'
    if (gt) return '>'
    if (quot) return '"'
    if (apos) return "'"
    return character(decimal === undefined ? Number.parseInt(hex, 16) : Number.parseInt(decimal, 10))
  })

/** Without the comments of CSS, in time linear in the text. */
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

/** What a browser would make of it: what it skips removed, lower case. */
const bare = (value: string): string => value.replace(/[\0-\x20\x7f-\xa0\u200b\ufeff]+/g, '').toLowerCase()

const styleText = (value: string): string =>
  bare(
    withoutComments(decode(value))
      .replace(/\\([0-9a-fA-F]{1,6})\s?/g, (_, hex) => character(Number.parseInt(hex, 16)))
      .replace(/\\/g, ''),
  )

/** Why an attribute with that name may not have that value, or null. The value's references are well-formed. */
export const attributeFault = (name: string, value: string): string | null => {
  if (!ATTRIBUTES.has(name)) return 'is not allowed'
  if (URLS.has(name)) {
    if (PLAIN_URL.test(value)) return null
    const url = bare(decode(value))
    if (ACTIVE_SCHEME.test(url) && !(name === 'src' && IMAGE_DATA.test(url))) {
      return 'is a URL that a browser would execute'
    }
  } else if (name === 'style' && DUBIOUS_STYLE.test(value) && ACTIVE_STYLE.test(styleText(value))) {
    return 'contains something that a browser would execute'
  }
  return null
}
