/** Converts references, canonicals and contained resources to rows. https://hl7.org/fhir/R4/search.html#reference */

import { ABSOLUTE, CANONICAL, IDENTIFIER } from '../../definition/column-codes.ts'
import { isObject, type Json, OWN_CANONICAL } from '../../definition/kind.ts'
import type { Hasher } from '../hash.ts'
import type { IndexEntries } from '../index-entries.ts'
import { toPrefixKey } from '../normalize.ts'
import { alike, type Convert } from './convert.ts'

const IN_BASE = /^(https?:\/\/.+)\/([A-Z][A-Za-z]+\/[A-Za-z0-9\-.]{1,64})(?:\/_history\/[A-Za-z0-9\-.]{1,64})?$/

/**
 * The key of an absolute reference: the hash of `Type/id` plus the hash of its base. So the key can be computed from
 * the base and the hash of a resource, and the resource's hash from the key and the base.
 */
export const absoluteTarget = (relative: number, base: number): number => relative + base

/** `addToken` adds a row for the identifier of a reference. */
export const createReferenceConverters = (
  { long, short }: Hasher,
  addToken: (rows: IndexEntries, column: number, system: unknown, code: unknown) => void,
): Readonly<Record<string, Convert>> => {
  const addReference = (rows: IndexEntries, column: number, text: string): void => {
    if (text === '' || text.charCodeAt(0) === 35 /* # */) return
    const version = text.indexOf('/_history/')
    if (version > 0) rows.reference.push(column, long(text.slice(0, version)))
    const bar = text.indexOf('|')
    if (bar > 0) rows.reference.push(column, long(text.slice(0, bar)))
    rows.reference.push(column, long(text))
    if (text.charCodeAt(0) !== 104 /* h */) return
    const parts = IN_BASE.exec(text)
    if (parts !== null)
      rows.reference.push(column + ABSOLUTE, absoluteTarget(long(parts[2] as string), short(parts[1] as string)))
  }
  const referenceReference: Convert = (rows, column, value: Json) => {
    if (typeof value.reference === 'string') addReference(rows, column, value.reference)
    if (isObject(value.identifier)) addToken(rows, column + IDENTIFIER, value.identifier.system, value.identifier.value)
  }
  /** Adds the text of a canonical, which `:above` and `:below` compare. */
  const addText = (rows: IndexEntries, column: number, text: string): void => {
    const key = toPrefixKey(text)
    rows.string.push(column, key, long(text), key.length === text.length ? null : text)
  }
  const referenceUri: Convert = (rows, column, value) => {
    if (typeof value !== 'string' || value === '') return
    addReference(rows, column, value)
    if (value.charCodeAt(0) === 35 /* # */) return
    rows.reference.push(column + CANONICAL, long(value))
    const bar = value.indexOf('|')
    if (bar > 0) addText(rows, column, value.slice(0, bar))
    addText(rows, column, value)
  }
  const referenceResource: Convert = (rows, column, value: Json) => {
    if (typeof value.id === 'string') addReference(rows, column, `${value.resourceType}/${value.id}`)
  }
  /** The names that canonicals use for the resource: its url, with its version and without. */
  const ownCanonical: Convert = (rows, column, { url, version }: Json) => {
    if (typeof url !== 'string' || url === '') return
    rows.reference.push(column, long(url))
    if (typeof version === 'string') rows.reference.push(column, long(`${url}|${version}`))
  }
  return {
    Reference: referenceReference,
    ...alike(referenceUri, 'canonical uri url oid uuid'),
    Resource: referenceResource,
    [OWN_CANONICAL]: ownCanonical,
  }
}
