/**
 * Sort texts of tokens and references. The index holds only hashes of them, so they are read from the resources. A
 * token sorts by its code and then its text, a reference by type and id.
 */

import { isIndexable } from '../definition/indexed-types.ts'
import { type IndexKind, isObject, listOf } from '../definition/kind.ts'
import type { Convert } from '../index/convert/convert.ts'
import { createConverters } from '../index/convert/converters.ts'
import { createHasher } from '../index/hash.ts'
import type { IndexEntries } from '../index/index-entries.ts'
import { normalize } from '../index/normalize.ts'

const sortTextOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Joins code and display to one sort text. Without a code the display is used. */
const tokenKey = (code: unknown, text: unknown): string => {
  const own = sortTextOf(code)
  const shown = normalize(sortTextOf(text))
  if (own === '') return shown
  return shown === '' ? own : `${own}\u0001${shown}`
}

/** The value of an extension, whatever its type. */
const innerOf = (value: unknown): unknown => {
  if (!isObject(value) || typeof value.url !== 'string') return value
  const member = Object.keys(value).find((name) => name.startsWith('value'))
  return member === undefined ? undefined : value[member]
}

const tokenKeys = (value: unknown): readonly string[] => {
  if (!isObject(value)) return [String(value ?? '')]
  if (Array.isArray(value.coding) || 'text' in value) {
    const codings = listOf(value.coding).filter(isObject)
    const keys = codings.map(({ code, display }) => tokenKey(code, display ?? value.text))
    return keys.some((key) => key !== '') ? keys : [normalize(sortTextOf(value.text))]
  }
  // A Coding has `code`; an Identifier or ContactPoint has `value`.
  return [tokenKey(value.code ?? value.value, value.display)]
}

const referenceKey = (value: unknown): string => {
  if (!isObject(value)) return sortTextOf(value)
  if (typeof value.resourceType === 'string') return `${value.resourceType}/${sortTextOf(value.id)}`
  return sortTextOf(value.reference).replace(/\/_history\/[^/]*$/, '')
}

const keysOf = (kind: IndexKind, value: unknown): readonly string[] =>
  kind === 'token' ? tokenKeys(value) : kind === 'reference' ? [referenceKey(value)] : []

const { refers, hasExtension } = createConverters(createHasher(0))

/** Replaces the converters of the index: these add column and sort text to `rows.text`. */
export const sortTextsOf = {
  of: (kind: IndexKind, type: string): Convert | undefined =>
    isIndexable(kind, type)
      ? (rows: IndexEntries, column: number, value: unknown) => {
          for (const key of keysOf(kind, type === 'Extension' ? innerOf(value) : value))
            if (key !== '') rows.text.push(column, key, 0, null)
        }
      : undefined,
  refers,
  hasExtension,
}
