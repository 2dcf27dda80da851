/**
 * The converters: one function for each kind of index column and FHIR type. The generated extractors call them.
 * https://hl7.org/fhir/R4/search.html#ptypes
 */

import { type IndexKind, isObject, type Json, listOf } from '../../definition/kind.ts'
import type { Hasher } from '../hash.ts'
import type { Convert } from './convert.ts'
import { createDateConverters } from './date.ts'
import { createPositionConverters } from './position.ts'
import { createQuantityConverters } from './quantity.ts'
import { createReferenceConverters } from './reference.ts'
import { createStringConverters } from './string.ts'
import { createTokenConverters } from './token.ts'
import { createUriConverters } from './uri.ts'

/** The type that a literal reference names: `Patient` for `http://a/Patient/1/_history/2`. */
export const typeOfReference = (text: string): string | undefined =>
  /(?:^|\/)([A-Z][A-Za-z]+)\/[A-Za-z0-9\-.]{1,64}(?:\/_history\/[A-Za-z0-9\-.]{1,64})?$/.exec(text)?.[1]

/** True for `Patient/` followed by an id, the most frequent form of a reference. Faster than a regular expression. */
const isRelative = (text: string, type: string): boolean => {
  const slash = type.length
  if (text.charCodeAt(slash) !== 47 || !text.startsWith(type)) return false
  const { length } = text
  if (length <= slash + 1 || length > slash + 65) return false
  for (let at = slash + 1; at < length; at += 1) {
    const code = text.charCodeAt(at)
    const letter = code | 32
    if ((letter < 97 || letter > 122) && (code < 48 || code > 57) && code !== 45 && code !== 46) return false
  }
  return true
}

export const createConverters = (hasher: Hasher) => {
  const tokens = createTokenConverters(hasher)
  const table: Readonly<Record<IndexKind, Readonly<Record<string, Convert>>>> = {
    token: tokens.byType,
    reference: createReferenceConverters(hasher, tokens.addToken),
    date: createDateConverters(),
    string: createStringConverters(hasher),
    quantity: createQuantityConverters(hasher),
    uri: createUriConverters(hasher),
    position: createPositionConverters(),
  }

  /** `Object.hasOwn`, because `type` may come from a client: it is the part of an extension's member after `value`. */
  const converterOf = (kind: IndexKind, type: string): Convert | undefined =>
    Object.hasOwn(table[kind], type) ? table[kind][type] : undefined

  /** Converts the value of an extension by the type that its member names. */
  const extension =
    (kind: IndexKind): Convert =>
    (rows, column, value: Json) => {
      for (const member in value)
        if (member.startsWith('value') && member.length > 5) {
          const name = member.slice(5)
          const convert = converterOf(kind, name) ?? converterOf(kind, name.charAt(0).toLowerCase() + name.slice(1))
          if (convert !== undefined && value[member] !== null) convert(rows, column, value[member])
        }
    }
  return {
    /** The converter for values of a FHIR type. Undefined when this kind does not index such values. */
    of: (kind: IndexKind, type: string): Convert | undefined =>
      type === 'Extension' ? extension(kind) : converterOf(kind, type),
    /** Evaluates `resolve() is X` from the reference, without reading its target. */
    refers: (value: unknown, type: string, resource: Json): boolean => {
      const text = typeof value === 'string' ? value : isObject(value) ? value.reference : undefined
      if (typeof text === 'string') {
        if (isRelative(text, type)) return true
        if (text.startsWith('#'))
          return listOf(resource.contained).some(
            (one) => isObject(one) && `#${one.id}` === text && one.resourceType === type,
          )
        const named = typeOfReference(text)
        if (named !== undefined) return named === type
      }
      return isObject(value) && value.type === type
    },
    hasExtension: (value: unknown, url: string): boolean =>
      isObject(value) && listOf(value.extension).some((one) => isObject(one) && one.url === url),
  }
}

export type Converters = ReturnType<typeof createConverters>
