/**
 * Converts codes, identifiers and other tokens to rows, and their displays to rows for `:text`.
 * https://hl7.org/fhir/R4/search.html#token
 */

import { DISPLAY_TEXT, OF_TYPE, TEXT_SEPARATOR } from '../../definition/column-codes.ts'
import { isObject, type Json, listOf, MIME_TYPE } from '../../definition/kind.ts'
import type { Hasher } from '../hash.ts'
import type { IndexEntries } from '../index-entries.ts'
import { KEY_CHARS, normalize, toPrefixKey } from '../normalize.ts'
import { alike, type Convert } from './convert.ts'
import { mimeParts } from './mime-parts.ts'

const KNOWN_DISPLAYS = 2_000

interface Display {
  readonly key: string
  readonly value: number
  /** The whole normalized text when it is longer than the key, otherwise null. */
  readonly tail: string | null
}

export const createTokenConverters = ({ long, short, code: hashCode }: Hasher) => {
  // The same few displays occur again and again, so their keys are cached.
  const displays = new Map<string, Display>()
  const displayOf = (text: string): Display => {
    const found = displays.get(text)
    if (found !== undefined) return found
    const folded = normalize(text)
    const key = toPrefixKey(folded)
    const made = { key, value: long(folded), tail: key.length === folded.length ? null : folded }
    if (displays.size >= KNOWN_DISPLAYS) displays.clear()
    if (text.length <= KEY_CHARS) displays.set(text, made)
    return made
  }
  const addText = (rows: IndexEntries, column: number, display: unknown): void => {
    if (typeof display !== 'string' || display === '') return
    const { key, value, tail } = displayOf(display)
    if (key === '') return
    rows.token.push(column + DISPLAY_TEXT, value, 0)
    rows.text.push(column + DISPLAY_TEXT, key, value, tail)
  }
  const addToken = (rows: IndexEntries, column: number, system: unknown, code: unknown): void => {
    const named = typeof system === 'string' ? system : ''
    if (typeof code === 'string' && code !== '')
      rows.token.push(column, hashCode(code, named), named === '' ? 0 : short(named))
    else if (named !== '') rows.token.push(column, long(''), short(named))
  }
  const tokenCoding: Convert = (rows, column, value: Json) => {
    addToken(rows, column, value.system, value.code)
    if (value.display !== undefined) addText(rows, column, value.display)
  }
  const tokenCodeableConcept: Convert = (rows, column, value: Json) => {
    const { coding, text } = value
    let last: unknown
    if (Array.isArray(coding))
      for (const one of coding)
        if (isObject(one)) {
          addToken(rows, column, one.system, one.code)
          if (one.display !== undefined && one.display !== last) addText(rows, column, one.display)
          last = one.display
        }
    if (text !== undefined && text !== last) addText(rows, column, text)
  }
  const tokenIdentifier: Convert = (rows, column, value: Json) => {
    addToken(rows, column, value.system, value.value)
    const { type } = value
    if (!isObject(type)) return
    if (type.text !== undefined) addText(rows, column, type.text)
    if (typeof value.value === 'string')
      for (const one of listOf(type.coding))
        if (isObject(one) && typeof one.code === 'string')
          rows.token.push(
            column + OF_TYPE,
            long(`${one.code}${TEXT_SEPARATOR}${value.value}`),
            typeof one.system === 'string' ? short(one.system) : 0,
          )
  }
  const tokenContactPoint: Convert = (rows, column, value: Json) => {
    if (typeof value.value === 'string' && value.value !== '') rows.token.push(column, long(value.value), 0)
  }
  const tokenPrimitive: Convert = (rows, column, value) => {
    if (typeof value === 'string') {
      if (value !== '') rows.token.push(column, long(value), 0)
    } else if (typeof value === 'boolean' || typeof value === 'number') rows.token.push(column, long(String(value)), 0)
  }

  const tokenMimeType: Convert = (rows, column, value) => {
    if (typeof value !== 'string' || value === '') return
    rows.token.push(column, long(value), 0)
    for (const part of mimeParts(value)) rows.token.push(column + OF_TYPE, long(part), 0)
  }

  const byType: Readonly<Record<string, Convert>> = {
    Coding: tokenCoding,
    CodeableConcept: tokenCodeableConcept,
    Identifier: tokenIdentifier,
    ContactPoint: tokenContactPoint,
    [MIME_TYPE]: tokenMimeType,
    ...alike(tokenPrimitive, 'code boolean string id uri url canonical oid uuid integer positiveInt unsignedInt'),
  }
  return { addToken, byType }
}
