/**
 * Converts numbers, quantities, ranges and sampled data to bounds with units.
 * https://hl7.org/fhir/R4/search.html#quantity
 */

import { add, decimal, decimalText, multiply, type Ratio, readRatio } from '../../../model/service.ts'
import { isObject, type Json } from '../../definition/kind.ts'
import { WIDE_OFFSET } from '../../definition/wide-ranges.ts'
import { ABOVE_ALL, BELOW_ALL, type ExactNumber, justAbove, justBelow, toExactNumber } from '../exact-number.ts'
import type { Hasher } from '../hash.ts'
import type { IndexEntries } from '../index-entries.ts'
import { alike, type Convert } from './convert.ts'
import { exactValue } from './exact-value.ts'

const asText = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

const DECIMAL = /^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?$/
const MAX_DIGITS = 9 // up to so many digits a number is computed exactly in place

/**
 * Reads one point of sampled data. Returns NaN for E, U, L and anything else that is not a decimal. Short whole
 * numbers, the most frequent form, are read without making a string.
 */
const readPoint = (data: string, start: number, end: number): number => {
  const isNegative = data.charCodeAt(start) === 45
  const first = isNegative ? start + 1 : start
  if (end > first && end - first <= MAX_DIGITS) {
    let whole = 0
    let at = first
    for (; at < end; at += 1) {
      const digit = data.charCodeAt(at) - 48
      if (digit < 0 || digit > 9) break
      whole = whole * 10 + digit
    }
    if (at === end) return isNegative ? -whole : whole
  }
  const text = data.slice(start, end)
  return DECIMAL.test(text) ? Number(text) : Number.NaN
}

const ratioOf = (value: unknown): Ratio | undefined => {
  const text = typeof value === 'number' ? String(value) : decimalText(value)
  return text === undefined ? undefined : readRatio(text)
}

/** The lowest and the highest point, as text. Points with the same double count as equal. */
const extremesOf = (data: string): { readonly least: string; readonly greatest: string } | undefined => {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  let [least, greatest] = ['', '']
  for (let at = 0; at < data.length; ) {
    const blank = data.indexOf(' ', at)
    const end = blank === -1 ? data.length : blank
    const point = readPoint(data, at, end)
    if (point < low) [low, least] = [point, data.slice(at, end)]
    if (point > high) [high, greatest] = [point, data.slice(at, end)]
    at = end + 1
  }
  return least === '' || greatest === '' ? undefined : { least, greatest }
}

export const createQuantityConverters = ({ long, short }: Hasher): Readonly<Record<string, Convert>> => {
  const addQuantity = (rows: IndexEntries, column: number, low: ExactNumber, high: ExactNumber, of: Json): void => {
    const code = asText(of.code)
    const unit = asText(of.unit)
    const system = asText(of.system)
    rows.quantity.push(
      low.near === high.near && low.rest === high.rest ? column : column + WIDE_OFFSET,
      low.near,
      high.near,
      code === undefined ? 0 : long(code),
      system === undefined ? 0 : short(system),
      unit === undefined ? 0 : short(unit),
      low.rest,
      high.rest,
    )
  }
  const quantityNumber: Convert = (rows, column, value) => {
    const number = exactValue(value)
    if (number !== undefined) addQuantity(rows, column, number, number, {})
  }
  const quantityQuantity: Convert = (rows, column, value: Json) => {
    const number = exactValue(value.value)
    if (number === undefined) return
    switch (value.comparator) {
      case '<':
        return addQuantity(rows, column, BELOW_ALL, justBelow(number), value)
      case '<=':
        return addQuantity(rows, column, BELOW_ALL, number, value)
      case '>':
        return addQuantity(rows, column, justAbove(number), ABOVE_ALL, value)
      case '>=':
        return addQuantity(rows, column, number, ABOVE_ALL, value)
      default:
        return addQuantity(rows, column, number, number, value)
    }
  }
  const quantityMoney: Convert = (rows, column, value: Json) => {
    const number = exactValue(value.value)
    if (number !== undefined)
      addQuantity(rows, column, number, number, { code: value.currency, system: 'urn:iso:std:iso:4217' })
  }
  const quantityRange: Convert = (rows, column, value: Json) => {
    const low = isObject(value.low) ? exactValue(value.low.value) : undefined
    const high = isObject(value.high) ? exactValue(value.high.value) : undefined
    const unit = (low === undefined ? value.high : value.low) as Json
    if (low !== undefined || high !== undefined) addQuantity(rows, column, low ?? BELOW_ALL, high ?? ABOVE_ALL, unit)
  }
  const quantitySampledData: Convert = (rows, column, value: Json) => {
    const { origin, data, factor } = value
    if (!isObject(origin) || typeof data !== 'string') return
    const found = extremesOf(data)
    if (found === undefined) return
    const [start, scale] = [ratioOf(origin.value) ?? decimal(0n), ratioOf(factor) ?? decimal(1n)]
    const ends = [found.least, found.greatest].map((text) =>
      toExactNumber(add(start, multiply(readRatio(text) ?? decimal(0n), scale))),
    ) as [ExactNumber, ExactNumber]
    // With a negative factor the lowest point becomes the highest.
    const [low, high] = scale.digits < 0n ? [ends[1], ends[0]] : ends
    addQuantity(rows, column, low, high, origin)
  }
  return {
    ...alike(quantityQuantity, 'Quantity SimpleQuantity Age Duration Count Distance MoneyQuantity'),
    ...alike(quantityNumber, 'decimal integer positiveInt unsignedInt'),
    Money: quantityMoney,
    Range: quantityRange,
    SampledData: quantitySampledData,
  }
}
