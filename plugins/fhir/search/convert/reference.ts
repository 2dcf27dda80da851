/** References, canonicals and contained resources → rows. https://hl7.org/fhir/R4/search.html#reference */
import type { Hasher } from '../hash.ts'
import type { Rows } from '../rows.ts'
import { IDENTIFIER } from './columns.ts'
import { alike, type Convert, isObject, type Json } from './kind.ts'

/** `addToken` keeps the identifier of a reference. */
export const createReferenceConverters = (
  { long }: Hasher,
  addToken: (rows: Rows, column: number, system: unknown, code: unknown) => void,
): Readonly<Record<string, Convert>> => {
  const addReference = (rows: Rows, column: number, text: string): void => {
    if (text === '' || text.charCodeAt(0) === 35 /* # */) return
    const version = text.indexOf('/_history/')
    if (version > 0) rows.reference.push(column, long(text.slice(0, version)))
    const bar = text.indexOf('|')
    if (bar > 0) rows.reference.push(column, long(text.slice(0, bar)))
    rows.reference.push(column, long(text))
  }
  const referenceReference: Convert = (rows, column, value: Json) => {
    if (typeof value.reference === 'string') addReference(rows, column, value.reference)
    if (isObject(value.identifier)) addToken(rows, column + IDENTIFIER, value.identifier.system, value.identifier.value)
  }
  const referenceUri: Convert = (rows, column, value) => {
    if (typeof value === 'string') addReference(rows, column, value)
  }
  const referenceResource: Convert = (rows, column, value: Json) => {
    if (typeof value.id === 'string') addReference(rows, column, `${value.resourceType}/${value.id}`)
  }
  return {
    Reference: referenceReference,
    ...alike(referenceUri, 'canonical uri url oid uuid'),
    Resource: referenceResource,
  }
}
