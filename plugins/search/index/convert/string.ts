/** Converts texts, names and addresses to normalized keys. https://hl7.org/fhir/R4/search.html#string */

import { isObject, type Json, listOf } from '../../definition/kind.ts'
import type { Hasher } from '../hash.ts'
import type { IndexEntries } from '../index-entries.ts'
import { normalize, toPrefixKey } from '../normalize.ts'
import { alike, type Convert } from './convert.ts'

export const createStringConverters = ({ long }: Hasher): Readonly<Record<string, Convert>> => {
  const addString = (rows: IndexEntries, column: number, value: unknown): void => {
    if (typeof value !== 'string') return
    const folded = normalize(value)
    if (folded === '') return
    const key = toPrefixKey(folded)
    rows.string.push(column, key, long(value), key.length === folded.length ? null : folded)
  }
  const addStrings = (rows: IndexEntries, column: number, value: unknown): void => {
    if (Array.isArray(value)) for (const one of value) addString(rows, column, one)
    else addString(rows, column, value)
  }
  const stringHumanName: Convert = (rows, column, value: Json) => {
    addString(rows, column, value.text)
    addString(rows, column, value.family)
    addStrings(rows, column, value.given)
    addStrings(rows, column, value.prefix)
    addStrings(rows, column, value.suffix)
  }
  const stringAddress: Convert = (rows, column, value: Json) => {
    addString(rows, column, value.text)
    addStrings(rows, column, value.line)
    addString(rows, column, value.city)
    addString(rows, column, value.district)
    addString(rows, column, value.state)
    addString(rows, column, value.postalCode)
    addString(rows, column, value.country)
  }
  const stringCodeableConcept: Convert = (rows, column, value: Json) => {
    addString(rows, column, value.text)
    for (const one of listOf(value.coding)) if (isObject(one)) addString(rows, column, one.display)
  }
  return {
    ...alike(addString, 'string markdown code id uri url canonical'),
    HumanName: stringHumanName,
    Address: stringAddress,
    CodeableConcept: stringCodeableConcept,
  }
}
