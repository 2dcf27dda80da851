/**
 * Turns the prefix and value of dates, numbers and quantities into conditions on ranges.
 * https://hl7.org/fhir/R4/search.html#prefix
 */

import {
  type DateBounds,
  type DecimalRange,
  MAX_DIGITS,
  multiply,
  type NoRange,
  type Ratio,
  readDateBounds,
  readDecimalRange,
} from '../../../model/service.ts'
import { WIDE_OFFSET, WIDE_RANGE_MS } from '../../definition/wide-ranges.ts'
import { SearchPrefix, SearchValue } from '../../errors.ts'
import type { Hasher } from '../../index/hash.ts'
import {
  COMPOSITE,
  DATE_COLUMNS,
  type IndexEntries,
  type Places,
  QUANTITY,
  QUANTITY_COLUMNS,
} from '../../index/index-entries.ts'
import { and, Fragment, isIn, or, q } from '../../sql/fragment.ts'
import { splitEscaped, unescapeValue } from '../escape.ts'
import { type IndexLookup, someRow } from '../index-lookup.ts'
import { type NumberBounds, numberBounds } from '../number-bounds.ts'
import { type Prefix, splitPrefix } from '../prefix.ts'
import { equivalents } from '../units.ts'

/** `ap` means within 10 %, as R4 recommends: of the value, or for dates of the time between the date and now. */
const APPROXIMATE = 0.1

export interface Bounds {
  /**
   * Conditions on the columns lo and hi of `x`. `narrow` is for rows of the column itself, which are points or ranges
   * of limited length; `any` is for all rows.
   */
  readonly any: Fragment
  readonly narrow: Fragment
  readonly test: (lo: number, hi: number) => boolean
}

/** Bounds for a date. A row covers [lo, hi), the value [a, b); milliseconds. */
export const dateBounds = (prefix: Prefix, { lo: a, hi: b }: DateBounds, now: number): Bounds => {
  const gap = Math.round(APPROXIMATE * Math.abs(now - a))
  const both = (any: Fragment, test: Bounds['test'], narrow = any): Bounds => ({ any, narrow, test })
  switch (prefix) {
    case 'eq':
      return both(q`x.lo >= ${a} AND x.lo < ${b} AND x.hi <= ${b}`, (lo, hi) => lo >= a && hi <= b)
    case 'ne':
      return both(q`(x.lo < ${a} OR x.hi > ${b})`, (lo, hi) => lo < a || hi > b)
    case 'gt':
      return both(q`x.hi > ${b}`, (_lo, hi) => hi > b, q`x.lo > ${b - WIDE_RANGE_MS} AND x.hi > ${b}`)
    case 'lt':
      return both(q`x.lo < ${a}`, (lo) => lo < a)
    case 'ge':
      return both(
        q`(x.lo >= ${a} OR x.hi > ${b})`,
        (lo, hi) => lo >= a || hi > b,
        q`x.lo > ${a - WIDE_RANGE_MS} AND (x.lo >= ${a} OR x.hi > ${b})`,
      )
    case 'le':
      return both(q`x.lo < ${b} AND (x.lo < ${a} OR x.hi <= ${b})`, (lo, hi) => lo < a || hi <= b)
    case 'sa':
      return both(q`x.lo >= ${b}`, (lo) => lo >= b)
    case 'eb':
      return both(q`x.lo < ${a} AND x.hi <= ${a}`, (_lo, hi) => hi <= a)
    case 'ap': {
      const [from, to] = [a - gap, b + gap]
      return both(
        q`x.lo < ${to} AND x.hi > ${from}`,
        (lo, hi) => lo < to && hi > from,
        q`x.lo < ${to} AND x.lo > ${from - WIDE_RANGE_MS} AND x.hi > ${from}`,
      )
    }
  }
}

/** Parses a date value. The plus of a time zone may have been decoded to a space. */
export const readDateValue = (name: string, text: string): { prefix: Prefix; range: DateBounds } => {
  const { prefix, rest } = splitPrefix(text)
  const range: DateBounds = { lo: 0, hi: 0 }
  if (!readDateBounds(rest.replace(' ', '+'), range))
    throw SearchPrefix(name, 'date such as 2024-02-29 or 2024-02-29T12:00:00Z')
  return { prefix, range }
}

/** Conditions for the narrow rows of columns, and for the wide ones at WIDE_OFFSET. */
const onColumns = (
  codes: readonly number[],
  bounds: Pick<Bounds, 'any' | 'narrow'>,
  also: readonly Fragment[] = [],
): { where: Fragment; ranges: readonly Fragment[]; check: Fragment } => {
  const wide = codes.map((code) => code + WIDE_OFFSET)
  const ranges = [
    and([isIn('x.param', codes), bounds.narrow, ...also]),
    and([isIn('x.param', wide), bounds.any, ...also]),
  ]
  return {
    where: or(ranges),
    ranges,
    check: and([isIn('x.param', [...codes, ...wide]), bounds.any, ...also]),
  }
}

/** Checks the row at `at` in memory. */
const testRow = (bounds: NumberBounds, row: readonly unknown[], at: number, places: Places): boolean =>
  bounds.test(
    row[at + places.low] as number,
    row[at + places.lowRest] as string,
    row[at + places.high] as number,
    row[at + places.highRest] as string,
  )

const isOneOf = (codes: readonly number[], code: unknown): boolean =>
  codes.includes(code as number) || codes.includes((code as number) - WIDE_OFFSET)

export const dateLookup = (name: string, codes: readonly number[], text: string, now: number): IndexLookup => {
  const { prefix, range } = readDateValue(name, unescapeValue(text))
  const bounds = dateBounds(prefix, range, now)
  // Without the SQL of the bounds, because matchers are stored by the thousand.
  const { test } = bounds
  return {
    table: 'ix_date',
    ...onColumns(codes, bounds),
    isOrdered: false,
    probeable: true,
    matches: ({ date }: IndexEntries) =>
      someRow(
        date,
        DATE_COLUMNS,
        (at) => isOneOf(codes, date[at]) && test(date[at + 1] as number, date[at + 2] as number),
      ),
  }
}

/** What a number has to be that is beyond what searches compare. */
const BEYOND: Readonly<Record<Exclude<NoRange, 'no-number'>, string>> = {
  'too-many-digits': `a number of at most ${MAX_DIGITS} digits: more are not compared, so leave the last ones out`,
  'too-large': 'a number within the range of a double, which ends at 1.8e308: no larger one is stored',
}

const readNumberValue = (name: string, text: string): { prefix: Prefix; number: DecimalRange } => {
  const { prefix, rest } = splitPrefix(text)
  const number = readDecimalRange(rest)
  if (number === 'no-number') throw SearchPrefix(name, 'number such as 5.4 or 1e2')
  if (typeof number === 'string') throw SearchValue(name, BEYOND[number])
  return { prefix, number }
}

const scale = ({ value, low, high }: DecimalRange, factor: Ratio): DecimalRange => ({
  value: multiply(value, factor),
  low: multiply(low, factor),
  high: multiply(high, factor),
})

/** A number together with the condition on the unit that it is compared in. */
interface UnitCase {
  readonly number: DecimalRange
  readonly where?: Fragment
  readonly test: (code: number, system: number, unit: number) => boolean
}

/**
 * Parses `5.4`, `5.4|system|code` or `5.4||code`. Returns one case for each unit into which the number can be
 * converted.
 */
const unitCases = (
  name: string,
  hasher: Hasher,
  number: DecimalRange,
  parts: readonly string[],
): readonly UnitCase[] => {
  if (parts.length === 1) return [{ number, test: () => true }]
  if (parts.length !== 3) throw SearchValue(name, 'a quantity: number, number|system|code or number||code')
  const [system = '', code = ''] = parts.slice(1).map(unescapeValue)
  if (code === '' && system === '') return [{ number, test: () => true }]
  const systemHash = system === '' ? 0 : hasher.short(system)
  if (code === '') return [{ number, where: q`x.sys = ${systemHash}`, test: (_code, sys) => sys === systemHash }]
  const codeHash = hasher.long(code)
  if (system === '') {
    const unitHash = hasher.short(code)
    return [
      {
        number,
        where: q`(x.code = ${codeHash} OR x.unit = ${unitHash})`,
        test: (one, _sys, unit) => one === codeHash || unit === unitHash,
      },
    ]
  }
  const family = system === 'http://unitsofmeasure.org' ? equivalents(code) : []
  return [{ codes: [code], factor: undefined }, ...family].map((other) => {
    const hashes = other.codes.map(hasher.long)
    return {
      number: other.factor === undefined ? number : scale(number, other.factor),
      where: and([isIn('x.code', hashes), q`x.sys = ${systemHash}`]),
      test: (one: number, sys: number) => hashes.includes(one) && sys === systemHash,
    }
  })
}

export const quantityLookup = (name: string, hasher: Hasher, codes: readonly number[], text: string): IndexLookup => {
  const [first = '', ...unit] = splitEscaped(text, '|')
  const { prefix, number } = readNumberValue(name, unescapeValue(first))
  const cases = unitCases(name, hasher, number, [first, ...unit]).map((one) => ({
    ...one,
    bounds: numberBounds(prefix, one.number),
  }))
  const made = cases.map(({ bounds, where }) => onColumns(codes, bounds, where === undefined ? [] : [where]))
  return {
    table: 'ix_qty',
    where: or(made.map(({ where }) => where)),
    ranges: made.flatMap(({ ranges }) => ranges),
    check: or(made.map(({ check }) => check)),
    isOrdered: false,
    probeable: true,
    matches: ({ quantity }: IndexEntries) =>
      someRow(
        quantity,
        QUANTITY_COLUMNS,
        (at) =>
          isOneOf(codes, quantity[at]) &&
          cases.some(
            ({ bounds, test }) =>
              testRow(bounds, quantity, at, QUANTITY) &&
              test(quantity[at + 3] as number, quantity[at + 4] as number, quantity[at + 5] as number),
          ),
      ),
  }
}

export const numberLookup = (name: string, codes: readonly number[], text: string): IndexLookup => {
  const { prefix, number } = readNumberValue(name, unescapeValue(text))
  const bounds = numberBounds(prefix, number)
  return {
    table: 'ix_qty',
    ...onColumns(codes, bounds),
    isOrdered: false,
    probeable: true,
    matches: ({ quantity }: IndexEntries) =>
      someRow(
        quantity,
        QUANTITY_COLUMNS,
        (at) => isOneOf(codes, quantity[at]) && testRow(bounds, quantity, at, QUANTITY),
      ),
  }
}

/** The same bounds on the columns of a composite: `second` selects those of its second ranged component. */
export const componentBounds = (
  name: string,
  hasher: Hasher,
  kind: 'date' | 'quantity',
  text: string,
  now: number,
  second: boolean,
): { where: Fragment; test: (row: readonly unknown[], at: number) => boolean } => {
  const places = second ? COMPOSITE.second : COMPOSITE.first
  const rename = ({ text: sql, params }: Fragment): Fragment =>
    new Fragment(
      (second ? sql.replaceAll('x.lo', 'x.lo2').replaceAll('x.hi', 'x.hi2') : sql)
        .replaceAll('x.code', 'x.val2')
        .replaceAll('x.sys', 'x.sys2'),
      params,
    )
  if (kind === 'date') {
    const { prefix, range } = readDateValue(name, unescapeValue(text))
    const bounds = dateBounds(prefix, range, now)
    return {
      where: rename(bounds.any),
      test: (row, at) => bounds.test(row[at + places.low] as number, row[at + places.high] as number),
    }
  }
  const [first = '', ...unit] = splitEscaped(text, '|')
  const { prefix, number } = readNumberValue(name, unescapeValue(first))
  // A unit's text that differs from its code is stored in a row of its own, in the code column and without a system.
  const cases = unitCases(name, hasher, number, [first, ...unit]).map((one) => ({
    ...one,
    bounds: numberBounds(prefix, one.number),
  }))
  const inCode = ({ text: sql, params }: Fragment): Fragment =>
    new Fragment(sql.replaceAll(/x\.unit = \?/g, '(x.code = ? AND x.sys = 0)'), params)
  return {
    where: or(
      cases.map(({ bounds, where }) => rename(and(where === undefined ? [bounds.any] : [bounds.any, inCode(where)]))),
    ),
    test: (row, at) =>
      cases.some(
        ({ bounds, test }) =>
          testRow(bounds, row, at, places) &&
          test(row[at + 5] as number, row[at + 6] as number, row[at + 6] === 0 ? (row[at + 5] as number) : 0),
      ),
  }
}
