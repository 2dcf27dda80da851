/** Makes a value fit the type of an element, where that loses nothing: a Coding for a code, a number for a Quantity. */
import { isObject } from '../questionnaire/json.ts'

const NUMBERS: ReadonlySet<string> = new Set(['decimal', 'integer', 'positiveInt', 'unsignedInt'])
const DATES: ReadonlySet<string> = new Set(['date', 'dateTime', 'instant', 'time'])
const TEXTS: ReadonlySet<string> = new Set([
  'string',
  'markdown',
  'uri',
  'url',
  'canonical',
  'id',
  'oid',
  'uuid',
  'code',
])
const FULL_DATE = 10 // characters of YYYY-MM-DD

/** Undefined where the value does not fit. */
export const coerce = (value: unknown, type: string): unknown => {
  if (isObject(value)) {
    if (TEXTS.has(type)) return typeof value.code === 'string' ? value.code : undefined
    if (type === 'CodeableConcept' && value.coding === undefined && value.code !== undefined) return { coding: [value] }
    if (type === 'Coding' && Array.isArray(value.coding)) return value.coding[0]
    if (NUMBERS.has(type)) return typeof value.value === 'number' ? value.value : undefined
    return type === 'boolean' || DATES.has(type) ? undefined : value
  }
  if (type === 'boolean') return typeof value === 'boolean' ? value : undefined
  if (NUMBERS.has(type)) return typeof value === 'number' ? value : undefined
  if (typeof value === 'number' && type === 'Quantity') return { value }
  const text = String(value)
  if (TEXTS.has(type)) return text
  if (type === 'date') return text.slice(0, FULL_DATE)
  if (type === 'instant' || type === 'time') return text.includes(':') ? text : undefined
  if (type === 'dateTime') return text
  if (type === 'Reference') return { reference: text }
  return type === 'CodeableConcept' ? { text } : undefined
}
