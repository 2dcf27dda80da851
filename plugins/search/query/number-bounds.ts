/**
 * Turns the prefix and value of numbers into conditions on rows, which are points or ranges.
 * https://hl7.org/fhir/R4/search.html#prefix
 */

import { add, compareRatios, type DecimalRange, decimal, magnitude, multiply, subtract } from '../../model/service.ts'
import { compareExact, type ExactNumber, toExactNumber } from '../index/exact-number.ts'
import { type Fragment, q, raw } from '../sql/fragment.ts'
import type { Prefix } from './prefix.ts'

/** `ap` means within 10 % of the value, as R4 recommends. */
const APPROXIMATE = decimal(1n, -1)

export interface NumberBounds {
  /**
   * Conditions on the columns lo and hi of `x` and their rests. `narrow` is for rows that are points, `any` for all.
   */
  readonly any: Fragment
  readonly narrow: Fragment
  readonly test: (low: number, lowRest: string, high: number, highRest: string) => boolean
}

type End = 'lo' | 'hi'

// The index is ordered by the doubles, so conditions begin with them. The rest is compared only where the doubles are
// equal, and not at all where the bound has no rest, because no rest sorts before an empty one.
const atLeast = (end: End, { near, rest }: ExactNumber): Fragment => {
  const [column, left] = [raw(`x.${end}`), raw(`x.${end}_rest`)]
  return rest === '' ? q`${column} >= ${near}` : q`${column} >= ${near} AND (${column} > ${near} OR ${left} >= ${rest})`
}
const above = (end: End, { near, rest }: ExactNumber): Fragment => {
  const [column, left] = [raw(`x.${end}`), raw(`x.${end}_rest`)]
  return q`${column} >= ${near} AND (${column} > ${near} OR ${left} > ${rest})`
}
const below = (end: End, { near, rest }: ExactNumber): Fragment => {
  const [column, left] = [raw(`x.${end}`), raw(`x.${end}_rest`)]
  return rest === '' ? q`${column} < ${near}` : q`${column} <= ${near} AND (${column} < ${near} OR ${left} < ${rest})`
}
const atMost = (end: End, { near, rest }: ExactNumber): Fragment => {
  const [column, left] = [raw(`x.${end}`), raw(`x.${end}_rest`)]
  return q`${column} <= ${near} AND (${column} < ${near} OR ${left} <= ${rest})`
}

/**
 * A row covers [lo, hi]. The implicit precision (half a unit of the last digit) counts only for eq, ne and ap; other
 * prefixes compare the exact number.
 */
export const numberBounds = (prefix: Prefix, { value, low, high }: DecimalRange): NumberBounds => {
  switch (prefix) {
    case 'eq': {
      const [from, to] = [toExactNumber(low), toExactNumber(high)]
      return {
        any: q`${atLeast('lo', from)} AND ${below('hi', to)}`,
        narrow: q`${atLeast('lo', from)} AND ${below('lo', to)}`,
        test: (lo, loRest, hi, hiRest) => compareExact(lo, loRest, from) >= 0 && compareExact(hi, hiRest, to) < 0,
      }
    }
    case 'ne': {
      const [from, to] = [toExactNumber(low), toExactNumber(high)]
      return {
        any: q`((${below('lo', from)}) OR (${atLeast('hi', to)}))`,
        narrow: q`((${below('lo', from)}) OR (${atLeast('lo', to)}))`,
        test: (lo, loRest, hi, hiRest) => compareExact(lo, loRest, from) < 0 || compareExact(hi, hiRest, to) >= 0,
      }
    }
    case 'ap': {
      const [tenth, half] = [multiply(magnitude(value), APPROXIMATE), subtract(value, low)]
      const near = compareRatios(tenth, half) > 0 ? tenth : half
      const [from, to] = [toExactNumber(subtract(value, near)), toExactNumber(add(value, near))]
      return {
        any: q`${atMost('lo', to)} AND ${atLeast('hi', from)}`,
        narrow: q`${atMost('lo', to)} AND ${atLeast('lo', from)}`,
        test: (lo, loRest, hi, hiRest) => compareExact(lo, loRest, to) <= 0 && compareExact(hi, hiRest, from) >= 0,
      }
    }
    default: {
      const { end, holds, test } = SIDES[prefix]
      const exact = toExactNumber(value)
      return {
        any: holds(end, exact),
        narrow: holds('lo', exact),
        test: (lo, loRest, hi, hiRest) =>
          test(end === 'lo' ? compareExact(lo, loRest, exact) : compareExact(hi, hiRest, exact)),
      }
    }
  }
}

interface Side {
  readonly end: End
  readonly holds: (end: End, value: ExactNumber) => Fragment
  readonly test: (order: number) => boolean
}

/**
 * Which end of a row each prefix compares: one part of the range is enough for gt, lt, ge and le, and the whole range
 * must lie on that side for sa and eb.
 */
const SIDES: Readonly<Record<Exclude<Prefix, 'eq' | 'ne' | 'ap'>, Side>> = {
  gt: { end: 'hi', holds: above, test: (order) => order > 0 },
  lt: { end: 'lo', holds: below, test: (order) => order < 0 },
  ge: { end: 'hi', holds: atLeast, test: (order) => order >= 0 },
  le: { end: 'lo', holds: atMost, test: (order) => order <= 0 },
  sa: { end: 'lo', holds: above, test: (order) => order > 0 },
  eb: { end: 'hi', holds: below, test: (order) => order < 0 },
}
