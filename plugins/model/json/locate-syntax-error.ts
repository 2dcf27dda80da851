/**
 * Finds where JSON text first breaks the grammar of RFC 8259. Called only after JSON.parse has refused the text: some of
 * V8's messages do not name the position, and others quote what the client sent.
 */

import { isSpace } from './scan.ts'

const OBJECT = 123
const ARRAY = 91
const isHex = (code: number): boolean =>
  (code >= 48 && code <= 57) || (code >= 65 && code <= 70) || (code >= 97 && code <= 102)
const SHORT_ESCAPES = '"\\/bfnrt'

/** The result of reading one token: `at` is the index after it if `ok`, else the index of the error. */
interface Place {
  readonly at: number
  readonly ok: boolean
}

const endOfString = (text: string, start: number): Place => {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === 34) return { at: at + 1, ok: true }
    if (code < 32) return { at, ok: false }
    if (code !== 92) continue
    at += 1
    if (text[at] === 'u') {
      for (let digit = 0; digit < 4; digit += 1) {
        at += 1
        if (!isHex(text.charCodeAt(at))) return { at, ok: false }
      }
    } else if (at < text.length && !SHORT_ESCAPES.includes(text[at] as string)) return { at, ok: false }
  }
  return { at: text.length, ok: false }
}

const isDigit = (code: number): boolean => code >= 48 && code <= 57

/** Reads one or more digits. */
const endOfDigits = (text: string, start: number): Place => {
  let at = start
  while (isDigit(text.charCodeAt(at))) at += 1
  return { at, ok: at > start }
}

const endOfNumber = (text: string, start: number): Place => {
  let at = text[start] === '-' ? start + 1 : start
  let place: Place = text[at] === '0' ? { at: at + 1, ok: true } : endOfDigits(text, at)
  if (place.ok && text[place.at] === '.') place = endOfDigits(text, place.at + 1)
  if (place.ok && (text[place.at] === 'e' || text[place.at] === 'E')) {
    at = place.at + 1
    place = endOfDigits(text, text[at] === '+' || text[at] === '-' ? at + 1 : at)
  }
  return place
}

const endOfWord = (text: string, start: number, word: string): Place => {
  let at = 0
  while (at < word.length && text[start + at] === word[at]) at += 1
  return { at: start + at, ok: at === word.length }
}

const endOfScalar = (text: string, start: number): Place => {
  const first = text[start]
  if (first === '"') return endOfString(text, start)
  if (first === 't') return endOfWord(text, start, 'true')
  if (first === 'f') return endOfWord(text, start, 'false')
  if (first === 'n') return endOfWord(text, start, 'null')
  return endOfNumber(text, start)
}

/** Index of the first character that breaks the grammar; the length of the text if it ends too early. */
export const locateSyntaxError = (text: string): number => {
  const open: number[] = []
  let expects: 'value' | 'first-value' | 'key' | 'first-key' | 'colon' | 'end' = 'value'
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at)
    if (isSpace(code)) {
      at += 1
    } else if (expects === 'colon') {
      if (code !== 58) return at
      expects = 'value'
      at += 1
    } else if (expects === 'end') {
      const inside = open.at(-1)
      if (inside === undefined) return at
      if (code === 44) expects = inside === OBJECT ? 'key' : 'value'
      else if (code === inside + 2) open.pop()
      else return at
      at += 1
    } else if ((expects === 'first-key' && code === 125) || (expects === 'first-value' && code === 93)) {
      open.pop()
      expects = 'end'
      at += 1
    } else if (expects === 'key' || expects === 'first-key') {
      if (code !== 34) return at
      const { at: end, ok } = endOfString(text, at)
      if (!ok) return end
      expects = 'colon'
      at = end
    } else if (code === OBJECT || code === ARRAY) {
      open.push(code)
      expects = code === OBJECT ? 'first-key' : 'first-value'
      at += 1
    } else {
      const { at: end, ok } = endOfScalar(text, at)
      if (!ok) return end
      expects = 'end'
      at = end
    }
  }
  return text.length
}
