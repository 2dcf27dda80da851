/**
 * Values of FHIRPath over parsed JSON: equality and order. A primitive is its JSON value; one that has extensions but no
 * value is a Valueless. http://hl7.org/fhirpath/N1/#operations
 */
import { compareDateTimes, isComparable } from '../../date/compare-date-times.ts'
import { NotSupported } from '../parse.ts'

/** A primitive element without a value: it exists, and equals nothing. */
export class ElementWithoutValue {
  readonly element: unknown

  constructor(element: unknown) {
    this.element = element
  }
}

export type Collection = readonly unknown[]

export const EMPTY: Collection = Object.freeze([])
export const TRUE: Collection = Object.freeze([true])
export const FALSE: Collection = Object.freeze([false])

export const asBoolean = (value: boolean | undefined): Collection =>
  value === undefined ? EMPTY : value ? TRUE : FALSE

/** The evaluation of a singleton as a Boolean: anything there is true. */
export const toBoolean = (collection: Collection): boolean | undefined => {
  if (collection.length === 0) return undefined
  if (collection.length > 1) throw new NotSupported('one value is expected')
  const value = collection[0]
  if (value instanceof ElementWithoutValue) return undefined
  return typeof value === 'boolean' ? value : true
}

export const single = (collection: Collection): unknown => {
  if (collection.length > 1) throw new NotSupported('one value is expected')
  const value = collection[0]
  return value instanceof ElementWithoutValue ? undefined : value
}

export const deepEqual = (a: unknown, b: unknown): boolean => {
  if (a === b) return true
  if (a instanceof ElementWithoutValue || b instanceof ElementWithoutValue) return false
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const keys = Object.keys(a)
  if (keys.length !== Object.keys(b).length) return false
  return keys.every(
    (key) =>
      Object.hasOwn(b, key) && deepEqual((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]),
  )
}

/** A key under which equal values fall together, for collections too long to compare each with each. */
export const valueKeyOf = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof ElementWithoutValue) return value
  return JSON.stringify(value, (_key, inner) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
      : inner,
  )
}

const TEMPORAL = new Set(['date', 'dateTime', 'instant', 'time'])
const QUANTITY = /\/(?:Simple|Money)?Quantity$|\/(?:Age|Count|Distance|Duration)$/

/** What the static type says of how two values compare. */
export type Order = 'temporal' | 'quantity' | 'plain' | 'unknown'

export const orderOf = (kinds: readonly string[] | undefined): Order => {
  if (kinds === undefined || kinds.length === 0) return 'unknown'
  if (kinds.every((kind) => TEMPORAL.has(kind))) return 'temporal'
  if (kinds.every((kind) => QUANTITY.test(kind))) return 'quantity'
  return kinds.some((kind) => TEMPORAL.has(kind) || QUANTITY.test(kind)) ? 'unknown' : 'plain'
}

const compareTemporal = (a: string, b: string): number | undefined => {
  const difference = compareDateTimes(a, b)
  if (difference === null) throw new NotSupported('not a date')
  return difference
}

const compareQuantities = (a: Record<string, unknown>, b: Record<string, unknown>): number | undefined => {
  if (typeof a.value !== 'number' || typeof b.value !== 'number') return undefined
  if (a.comparator !== undefined || b.comparator !== undefined) throw new NotSupported('a comparator')
  if (a.code !== b.code || a.system !== b.system || a.unit !== b.unit) throw new NotSupported('units differ')
  return a.value - b.value
}

/** Below, equal or above zero; undefined for no answer. */
export const compare = (left: Collection, right: Collection, order: Order): number | undefined => {
  const a = single(left)
  const b = single(right)
  if (a === undefined || b === undefined) return undefined
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (typeof a === 'string' && typeof b === 'string') {
    if (order === 'temporal') return compareTemporal(a, b)
    if (order === 'plain') return a < b ? -1 : a > b ? 1 : 0
  }
  if (order === 'quantity' && typeof a === 'object' && typeof b === 'object') {
    return compareQuantities(a as Record<string, unknown>, b as Record<string, unknown>)
  }
  throw new NotSupported('these cannot be compared here')
}

/** The operator =, three-valued. */
export const equal = (left: Collection, right: Collection, order: Order): boolean | undefined => {
  if (left.length === 0 || right.length === 0) return undefined
  if (left.length !== right.length) return false
  for (let at = 0; at < left.length; at++) {
    const a = left[at]
    const b = right[at]
    if (a instanceof ElementWithoutValue || b instanceof ElementWithoutValue) return false
    if (deepEqual(a, b)) continue
    if (order === 'unknown' && typeof a === 'string' && typeof b === 'string' && isComparable(a) && isComparable(b)) {
      throw new NotSupported('perhaps two dates')
    }
    if (order === 'temporal' || order === 'quantity') {
      const difference = compare([a], [b], order)
      if (difference === undefined) return undefined
      if (difference === 0) continue
    }
    return false
  }
  return true
}
