/** A resource in a few words, for tables and headings: what names it, and what it says. */

import { decimalText } from '../model/service.ts'

type Json = Readonly<Record<string, unknown>>

const isRecord = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)
const first = (value: unknown): unknown => (Array.isArray(value) ? value[0] : value)
const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

const ofConcept = (value: unknown): string | undefined => {
  if (!isRecord(value)) return undefined
  const coding = first(value.coding)
  return text(value.text) ?? (isRecord(coding) ? (text(coding.display) ?? text(coding.code)) : text(value.display))
}

const ofName = (value: unknown): string | undefined => {
  if (typeof value === 'string') return text(value)
  if (!isRecord(value)) return undefined
  const given = Array.isArray(value.given) ? value.given.filter((one) => typeof one === 'string') : []
  return text(value.text) ?? text([...given, text(value.family)].filter((one) => one !== undefined).join(' '))
}

const ofQuantity = (value: unknown): string | undefined => {
  if (!isRecord(value) || value.value === undefined) return undefined
  return [decimalText(value.value) ?? String(value.value), text(value.unit) ?? text(value.code)]
    .filter((one) => one !== undefined)
    .join(' ')
}

const ofReference = (value: unknown): string | undefined =>
  isRecord(value) ? (text(value.display) ?? text(value.reference)) : undefined

const NAMES = [
  'name',
  'title',
  'code',
  'medicationCodeableConcept',
  'vaccineCode',
  'class',
  'type',
  'category',
  'description',
]
const ABOUT = ['subject', 'patient', 'beneficiary', 'for']
const TIMES = [
  'effectiveDateTime',
  'occurrenceDateTime',
  'onsetDateTime',
  'authoredOn',
  'issued',
  'date',
  'recorded',
  'birthDate',
  'period',
]

const found = (resource: Json, names: readonly string[], read: (value: unknown) => string | undefined) => {
  for (const name of names) {
    const value = read(first(resource[name]))
    if (value !== undefined) return value
  }
  return undefined
}

/** What names the resource; undefined where nothing does. */
export const nameOf = (resource: Json): string | undefined =>
  found(resource, NAMES, (value) => ofName(value) ?? ofConcept(value))

const ofTime = (value: unknown): string | undefined =>
  isRecord(value)
    ? text(
        [text(value.start), text(value.end)]
          .map((one) => one ?? '')
          .join(' – ')
          .trim(),
      )
    : text(value)

export const summaryOf = (resource: Json): string =>
  [
    nameOf(resource),
    ofQuantity(resource.valueQuantity) ?? ofConcept(resource.valueCodeableConcept) ?? text(resource.valueString),
    found(resource, ABOUT, ofReference),
    text(resource.status),
    text(resource.gender),
    found(resource, TIMES, ofTime),
  ]
    .filter((one) => one !== undefined)
    .map((one) => (one.length > 120 ? `${one.slice(0, 120)}…` : one))
    .join(' · ')
