/**
 * The words of a resource for `_text` (its narrative) and `_content` (all texts), without case and accents. Left out
 * are systems, URLs, references, dates, attachment data and `meta`: other parameters find them, or no reader would
 * search for them.
 */
import { normalize } from '../normalize.ts'

export interface ResourceText {
  readonly narrative: string
  readonly content: string
}

/** Most characters that are indexed of each. PostgreSQL limits a tsvector to 1 MB. */
const MAX_CHARS = 150_000
/** Longer texts without white space are taken for data and left out. */
const MAX_WORD = 1_000

const LEFT_OUT = new Set(['resourceType', 'id', 'meta', 'div', 'system', 'url', 'reference', 'data', 'contentType'])
const NO_WORDS = /^(?:(?:https?:\/\/|urn:)\S*|\d{4}-\d\d(?:-\d\d(?:T\S+)?)?)$/i
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }
const NOT_ASCII = /[\u0080-\uffff]/

/**
 * Elements that may occur inside a word and are removed; any other element separates words. A tag ends before the
 * next `<`, so that even an invalid narrative takes linear time.
 */
const INLINE_TAG =
  /<\/?(?:a|abbr|acronym|b|bdo|big|cite|code|del|dfn|em|font|i|ins|kbd|q|s|samp|small|span|strike|strong|sub|sup|tt|u|var)(?:\s[^<>]*)?\/?>|<!--(?:[^-]|-(?!-))*-->/gi

const toText = (xhtml: string): string =>
  xhtml
    .replace(INLINE_TAG, '')
    .replace(/<[^<>]*>/g, ' ')
    .replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,8}));/gi, (_all, decimal, hex, name) => {
      if (name !== undefined) return Object.hasOwn(ENTITIES, name) ? (ENTITIES[name] as string) : ' '
      const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal)
      return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : ' '
    })

/** The words of a text, normalized, with one blank between them. */
export const toTerms = (text: string): string => {
  const folded = normalize(text.length > MAX_CHARS ? text.slice(0, MAX_CHARS) : text)
  return folded.replace(NOT_ASCII.test(folded) ? /[^\p{L}\p{M}\p{N}]+/gu : /[^a-z0-9]+/g, ' ').trim()
}

const collect = (value: unknown, name: string, into: string[]): void => {
  if (typeof value === 'string') {
    if (value.length > MAX_WORD ? /\s/.test(value) : !NO_WORDS.test(value)) into.push(value)
  } else if (Array.isArray(value)) for (const one of value) collect(one, name, into)
  else if (typeof value === 'object' && value !== null)
    for (const member in value)
      if (!LEFT_OUT.has(member)) collect((value as Record<string, unknown>)[member], member, into)
}

/** `withContent` false: only the narrative. */
export const resourceTextOf = (resource: Readonly<Record<string, unknown>>, withContent: boolean): ResourceText => {
  const div = (resource.text as { div?: unknown } | undefined)?.div
  const narrative = typeof div === 'string' ? toTerms(toText(div)) : ''
  if (!withContent) return { narrative, content: '' }
  const texts: string[] = []
  collect(resource, '', texts)
  return { narrative, content: toTerms(texts.join(' ')) }
}
