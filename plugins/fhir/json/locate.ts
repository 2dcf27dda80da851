/**
 * Where JSON text first breaks the grammar of RFC 8259. Asked only when JSON.parse has refused the text: V8 tells the
 * place in some of its messages only, and quotes the submitted text in others.
 */

import { isSpace } from './scan.ts'

const OBJECT = 123
const ARRAY = 91
const isHex = (code: number): boolean =>
  (code >= 48 && code <= 57) || (code >= 65 && code <= 70) || (code >= 97 && code <= 102)
const SHORT_ESCAPES = '"\\/bfnrt'

/** After the string that starts at `start`: its end, and whether it ended well; else where it breaks. */
const endOfString = (text: string, start: number): { readonly at: number; readonly ok: boolean } => {
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

const SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y

/** After the value without parts that starts at `start`, or where it breaks. */
const endOfScalar = (text: string, start: number): { readonly at: number; readonly ok: boolean } => {
  if (text[start] === '"') return endOfString(text, start)
  SCALAR.lastIndex = start
  return SCALAR.test(text) ? { at: SCALAR.lastIndex, ok: true } : { at: start, ok: false }
}

/** Index of the first character that no valid text can have there; the length when the text ends too early. */
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
