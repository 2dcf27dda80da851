/**
 * The narrative: one well-formed XHTML div with only the formatting elements and attributes of txt-1, nothing a browser
 * would run or fetch by itself, no DOCTYPE and no entity but XML's own; and with something to see (txt-2).
 * https://hl7.org/fhir/R4/narrative.html
 */
import { isClean } from './text.ts'

const XHTML = 'http://www.w3.org/1999/xhtml'

/** The XPath of txt-1 in the definition of Narrative. */
const ELEMENTS = new Set(
  `a abbr acronym b big blockquote br caption cite code col colgroup dd dfn div dl dt em h1 h2 h3 h4 h5 h6 hr i img li
  ol p pre q samp small span strong sub sup table tbody td tfoot th thead tr tt ul var`.split(/\s+/),
)
/** The same XPath; with xml:lang, which XHTML wants beside lang. */
const ATTRIBUTES = new Set(
  `abbr accesskey align alt axis bgcolor border cellhalign cellpadding cellspacing cellvalign char charoff charset cite
  class colspan compact coords dir frame headers height href hreflang hspace id lang longdesc name nowrap rel rev
  rowspan rules scope shape span src start style summary tabindex title type valign value vspace width
  xml:lang`.split(/\s+/),
)
const URLS = new Set(['href', 'src', 'cite', 'longdesc'])

const REFERENCE = /&(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9a-fA-F]{1,6});/y
const ENTITY = /&(?:(amp)|(lt)|(gt)|(quot)|(apos)|#([0-9]+)|#x([0-9a-fA-F]+));/g
const NOT_BLANK = /[^ \t\r\n]/
const ACTIVE_SCHEME = /^(?:javascript|vbscript|livescript|mocha|data|blob|filesystem|view-source):/
const IMAGE_DATA = /^data:image\/[a-z0-9.+-]+[;,]/
const ACTIVE_STYLE = /expression\(|javascript:|vbscript:|behaviou?r:|-moz-binding|@import/

/** A code point XML allows. */
const isXmlCharacter = (point: number): boolean =>
  point === 9 ||
  point === 10 ||
  point === 13 ||
  (point >= 0x20 && point <= 0xd7ff) ||
  (point >= 0xe000 && point <= 0xfffd) ||
  (point >= 0x10000 && point <= 0x10ffff)

/** Replaces XML's references; -1 code points become U+FFFD. */
const decode = (text: string): string =>
  text.replace(ENTITY, (_, amp, lt, gt, quot, apos, decimal, hex) => {
    if (amp) return '&'
    if (lt) return '<'
    if (gt) return '>'
    if (quot) return '"'
    if (apos) return "'"
    const point = decimal === undefined ? Number.parseInt(hex, 16) : Number.parseInt(decimal, 10)
    return isXmlCharacter(point) ? String.fromCodePoint(point) : '\ufffd'
  })

const isSpace = (unit: number): boolean => unit === 32 || unit === 10 || unit === 13 || unit === 9

/** What a browser would see of a URL or style: references decoded, what it skips removed, lower case. */
const bare = (value: string): string =>
  decode(value)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: browsers skip them inside a scheme
    .replace(/[\0-\x20\x7f-\xa0\u200b\ufeff]+/g, '')
    .toLowerCase()

const styleText = (value: string): string =>
  bare(
    value
      .replace(/\/\*.*?\*\//gs, '')
      .replace(/\\([0-9a-fA-F]{1,6})\s?/g, (_, hex) => {
        const point = Number.parseInt(hex, 16)
        return isXmlCharacter(point) ? String.fromCodePoint(point) : ''
      })
      .replace(/\\/g, ''),
  )

/** Why an attribute of that name may not have that value, or null. */
const attributeFault = (name: string, value: string): string | null => {
  if (URLS.has(name)) {
    const url = bare(value)
    if (ACTIVE_SCHEME.test(url) && !(name === 'src' && IMAGE_DATA.test(url)))
      return `the attribute ${name} has a URL that a browser would execute`
  } else if (name === 'style' && ACTIVE_STYLE.test(styleText(value))) {
    return 'the attribute style contains something that a browser would execute'
  }
  return null
}

/** A check with its own scratch space: `null` when the narrative is fine, else `txt-1: why` or `txt-2: why`. */
export const createNarrativeCheck = (): ((text: string) => string | null) => {
  const open: string[] = []
  const attributes: string[] = []
  let text = ''
  let at = 0
  let nextReference = -1
  let hasContent = false

  /** Every & before `end` is one of XML's own references. */
  const referencesUntil = (end: number): string | null => {
    while (nextReference !== -1 && nextReference < end) {
      REFERENCE.lastIndex = nextReference
      if (!REFERENCE.test(text)) return 'it has an entity that XML does not define; write the character itself'
      if (text.charCodeAt(nextReference + 1) === 35) {
        const hex = text.charCodeAt(nextReference + 2) === 120
        const digits = text.slice(nextReference + (hex ? 3 : 2), REFERENCE.lastIndex - 1)
        if (!isXmlCharacter(Number.parseInt(digits, hex ? 16 : 10))) return 'it refers to a character XML does not allow'
      }
      nextReference = text.indexOf('&', REFERENCE.lastIndex)
    }
    return null
  }

  const skipSpace = (): boolean => {
    const from = at
    while (isSpace(text.charCodeAt(at))) at++
    return at > from
  }

  /** Moves over a name of letters, digits, `:`, `-`, `_` and `.`. */
  const skipName = (): void => {
    for (;;) {
      const unit = text.charCodeAt(at)
      const letter = unit | 32
      if ((letter >= 97 && letter <= 122) || (unit >= 45 && unit <= 58 && unit !== 47) || unit === 95) at++
      else return
    }
  }

  const attribute = (element: string): string | null => {
    const from = at
    skipName()
    if (at === from) return `the tag <${element}> is not well-formed`
    const name = text.slice(from, at)
    skipSpace()
    if (text.charCodeAt(at++) !== 61) return `the attribute ${name} of <${element}> has no value`
    skipSpace()
    const quote = text.charCodeAt(at)
    if (quote !== 34 && quote !== 39) return `the value of the attribute ${name} of <${element}> is not quoted`
    const start = at + 1
    const end = text.indexOf(quote === 34 ? '"' : "'", start)
    if (end < 0) return `the value of the attribute ${name} of <${element}> does not end`
    at = end + 1
    const less = text.indexOf('<', start)
    if (less >= 0 && less < end) return `the value of the attribute ${name} of <${element}> contains <`
    const fault = referencesUntil(end)
    if (fault !== null) return fault
    if (attributes.includes(name)) return `<${element}> has the attribute ${name} twice`
    attributes.push(name)
    if (name === 'xmlns') {
      return text.slice(start, end) === XHTML ? null : `<${element}> is not in the namespace ${XHTML}`
    }
    if (!ATTRIBUTES.has(name)) return `the attribute ${name} of <${element}> is not allowed`
    return URLS.has(name) || name === 'style' ? attributeFault(name, text.slice(start, end)) : null
  }

  const startTag = (): string | null => {
    const from = ++at
    skipName()
    const element = text.slice(from, at)
    if (element === '') return 'it contains a < that starts no tag'
    if (open.length === 0 && element !== 'div') return `it is a <${element}> where a <div> is expected`
    if (!ELEMENTS.has(element)) return `the element <${element}> is not allowed`
    attributes.length = 0
    for (;;) {
      const spaced = skipSpace()
      const unit = text.charCodeAt(at)
      if (unit === 62 || unit === 47) break
      if (!spaced) return `the tag <${element}> is not well-formed`
      const fault = attribute(element)
      if (fault !== null) return fault
    }
    if (open.length === 0 && !attributes.includes('xmlns')) return `its <div> lacks xmlns="${XHTML}"`
    if (element === 'img' && attributes.includes('src')) hasContent = true
    if (text.charCodeAt(at) === 62) {
      open.push(element)
      at++
      return null
    }
    if (text.charCodeAt(at + 1) !== 62) return `the tag <${element}> is not well-formed`
    at += 2
    return null
  }

  const endTag = (): string | null => {
    const element = open[open.length - 1]!
    at += 2
    if (!text.startsWith(element, at)) return `<${element}> is not closed`
    at += element.length
    skipSpace()
    if (text.charCodeAt(at) !== 62) return `<${element}> is not closed`
    at++
    open.length--
    return null
  }

  const comment = (): string | null => {
    if (!text.startsWith('<!--', at)) return 'it has a DOCTYPE or CDATA section, which a narrative may not have'
    const end = text.indexOf('--', at + 4)
    // A browser that reads this as HTML ends `<!-->` and `<!--->` at once.
    if (end < 0 || text.charCodeAt(end + 2) !== 62 || text.charCodeAt(at + 4) === 62 || text.startsWith('->', at + 4))
      return 'it has a comment that is not well-formed'
    if (nextReference !== -1 && nextReference < end) nextReference = text.indexOf('&', end)
    at = end + 3
    return null
  }

  const markup = (): string | null => {
    const unit = text.charCodeAt(at + 1)
    if (unit === 47) return endTag()
    if (unit === 33) return comment()
    if (unit === 63) return 'it has a processing instruction, which a narrative may not have'
    return startTag()
  }

  const fault = (): string | null => {
    if (!isClean(text)) return 'it has a character XML does not allow'
    skipSpace()
    if (text.charCodeAt(at) !== 60 || (text.charCodeAt(at + 1) | 32) < 97) return 'it does not start with <div>'
    let found = markup()
    while (found === null && open.length > 0) {
      const next = text.indexOf('<', at)
      if (next < 0) return `<${open[open.length - 1]}> is not closed`
      if (next > at) {
        found = referencesUntil(next)
        if (found !== null) return found
        hasContent ||= text.charCodeAt(at) > 32 || NOT_BLANK.test(text.slice(at, next))
      }
      at = next
      found = markup()
    }
    if (found !== null) return found
    skipSpace()
    return at === text.length ? null : 'there is something after its </div>'
  }

  return (narrative) => {
    text = narrative
    at = 0
    open.length = 0
    hasContent = false
    nextReference = narrative.indexOf('&')
    const found = fault()
    text = ''
    if (found !== null) return `txt-1: The narrative must be one XHTML div of basic formatting, but ${found}.`
    return hasContent ? null : 'txt-2: The narrative has no text and no image to show.'
  }
}
