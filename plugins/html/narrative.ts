/**
 * The narrative of a resource, made anew: its tags are read, and only elements of a short list are written, without any of
 * their attributes but the spans of cells. So nothing that a narrative holds reaches a page as markup of its own: no link,
 * style, image or script. A frame would show more, but has no height of its own, is hard to use with a keyboard and a
 * screen reader, and shows colours that do not suit the page. https://hl7.org/fhir/R4/narrative.html
 */
import { type Html, html, trusted } from './markup/html.ts'

const MAX_CHARS = 200_000

const KEPT: ReadonlySet<string> = new Set(
  'p div span b i em strong small sub sup u s tt code pre blockquote q ul ol li dl dt dd table caption thead tbody tfoot tr th td'.split(
    ' ',
  ),
)
const EMPTY: ReadonlySet<string> = new Set(['br', 'hr'])
const HEADING = /^h[1-6]$/
/** Their text is not for readers. */
const DROPPED: ReadonlySet<string> = new Set([
  'script',
  'style',
  'title',
  'textarea',
  'template',
  'iframe',
  'object',
  'svg',
  'math',
  'noscript',
  'xmp',
])

const TAG =
  /<!--[\s\S]*?(?:-->|$)|<!\[CDATA\[[\s\S]*?(?:\]\]>|$)|<[!?][^>]*(?:>|$)|<(\/?)([A-Za-z][A-Za-z0-9:-]*)((?:"[^"]*"|'[^']*'|[^'">])*)>/g
const SPAN = /\b(colspan|rowspan)\s*=\s*["']?([1-9]\d{0,2})["']?/gi
const ENTITY = /&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-zA-Z]{1,8}));/g
const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0' }

const character = (code: number): string => (code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd')

const decoded = (text: string): string =>
  text.replaceAll(ENTITY, (all, decimal?: string, hex?: string, name?: string) => {
    if (decimal !== undefined) return character(Number(decimal))
    if (hex !== undefined) return character(Number.parseInt(hex, 16))
    return NAMED[name as string] ?? all
  })

/** The spans of a cell, each once. */
const spansOf = (attributes: string): string => {
  const spans = new Map<string, string>()
  for (const [, name = '', count = ''] of attributes.matchAll(SPAN)) spans.set(name.toLowerCase(), count)
  return [...spans].map(([name, count]) => ` ${name}="${count}"`).join('')
}

/** Undefined for a narrative that is too long. `div` is XHTML. */
export const showNarrative = (div: string): Html | undefined => {
  if (div.length > MAX_CHARS) return undefined
  const out: Html[] = []
  const open: string[] = []
  let dropped: string | undefined
  let depth = 0 // of elements with the name that is dropped
  let at = 0
  const text = (end: number): void => {
    if (dropped === undefined && end > at) out.push(html`${decoded(div.slice(at, end))}`)
  }
  const begin = (given: string, name: string, attributes: string, isClosed: boolean): void => {
    if (EMPTY.has(name)) return void out.push(trusted(`<${name}>`))
    if (!KEPT.has(name)) return
    const isCell = name === 'td' || name === 'th'
    // Headings of a narrative are not those of the page.
    const kept = HEADING.test(given) ? ' class="heading"' : isCell ? spansOf(attributes) : ''
    out.push(trusted(`<${name}${kept}>`))
    if (isClosed) out.push(trusted(`</${name}>`))
    else open.push(name)
  }
  const end = (name: string): void => {
    const found = open.lastIndexOf(name)
    if (found !== -1) for (const one of open.splice(found).reverse()) out.push(trusted(`</${one}>`))
  }
  for (const match of div.matchAll(TAG)) {
    const [whole, slash, given, attributes = ''] = match
    text(match.index)
    at = match.index + whole.length
    if (given === undefined) continue
    const lower = given.toLowerCase()
    const name = HEADING.test(lower) ? 'p' : lower
    const isClosed = attributes.endsWith('/')
    if (dropped !== undefined) {
      if (name === dropped && !isClosed) depth += slash === '/' ? -1 : 1
      if (depth === 0) dropped = undefined
    } else if (DROPPED.has(name)) {
      if (slash !== '/' && !isClosed) {
        dropped = name
        depth = 1
      }
    } else if (slash === '/') end(name)
    else begin(lower, name, attributes, isClosed)
  }
  text(div.length)
  for (const one of open.reverse()) out.push(trusted(`</${one}>`))
  return html`<div class="narrative" tabindex="0">${out}</div>`
}
