/** Numbers, quantities and ranges → bounds with their units. https://hl7.org/fhir/R4/search.html#quantity */
import type { Hasher } from '../hash.ts'
import type { Rows } from '../rows.ts'
import { WIDE } from '../wide.ts'
import { alike, type Convert, isObject, type Json } from './kind.ts'

const asText = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

const MOST_DIGITS = 9 // that are surely exact as a number

/** One point of sampled data: a decimal; NaN for E, U, L and what is none. Whole numbers, as most are, are read in place. */
const readPoint = (data: string, start: number, end: number): number => {
  const isNegative = data.charCodeAt(start) === 45
  const first = isNegative ? start + 1 : start
  if (end > first && end - first <= MOST_DIGITS) {
    let whole = 0
    let at = first
    for (; at < end; at += 1) {
      const digit = data.charCodeAt(at) - 48
      if (digit < 0 || digit > 9) break
      whole = whole * 10 + digit
    }
    if (at === end) return isNegative ? -whole : whole
  }
  return end === start ? Number.NaN : Number(data.slice(start, end))
}

export const createQuantityConverters = ({ long, short }: Hasher): Readonly<Record<string, Convert>> => {
  const addQuantity = (rows: Rows, column: number, low: number, high: number, of: Json): void => {
    const code = asText(of.code)
    const unit = asText(of.unit)
    const system = asText(of.system)
    rows.quantity.push(
      low === high ? column : column + WIDE,
      low,
      high,
      code === undefined ? 0 : long(code),
      system === undefined ? 0 : short(system),
      unit === undefined ? 0 : short(unit),
    )
  }
  const quantityNumber: Convert = (rows, column, value) => {
    if (typeof value === 'number') rows.quantity.push(column, value, value, 0, 0, 0)
  }
  const quantityQuantity: Convert = (rows, column, value: Json) => {
    const number = value.value
    if (typeof number !== 'number') return
    const comparator = value.comparator
    const isLess = comparator === '<' || comparator === '<='
    const isMore = comparator === '>' || comparator === '>='
    addQuantity(rows, column, isLess ? -Number.MAX_VALUE : number, isMore ? Number.MAX_VALUE : number, value)
  }
  const quantityMoney: Convert = (rows, column, value: Json) => {
    if (typeof value.value === 'number')
      addQuantity(rows, column, value.value, value.value, { code: value.currency, system: 'urn:iso:std:iso:4217' })
  }
  const quantityRange: Convert = (rows, column, value: Json) => {
    const low = isObject(value.low) && typeof value.low.value === 'number' ? value.low : undefined
    const high = isObject(value.high) && typeof value.high.value === 'number' ? value.high : undefined
    const unit = low ?? high
    if (unit !== undefined)
      addQuantity(
        rows,
        column,
        low === undefined ? -Number.MAX_VALUE : (low.value as number),
        high === undefined ? Number.MAX_VALUE : (high.value as number),
        unit,
      )
  }
  const quantitySampledData: Convert = (rows, column, value: Json) => {
    const { origin, data, factor } = value
    if (!isObject(origin) || typeof data !== 'string') return
    const start = typeof origin.value === 'number' ? origin.value : 0
    const scale = typeof factor === 'number' ? factor : 1
    let low = Number.MAX_VALUE
    let high = -Number.MAX_VALUE
    for (let at = 0; at < data.length; ) {
      const blank = data.indexOf(' ', at)
      const end = blank === -1 ? data.length : blank
      const number = readPoint(data, at, end)
      at = end + 1
      if (Number.isNaN(number)) continue
      const value = start + number * scale
      if (value < low) low = value
      if (value > high) high = value
    }
    if (high >= low) addQuantity(rows, column, low, high, origin)
  }
  return {
    ...alike(quantityQuantity, 'Quantity SimpleQuantity Age Duration Count Distance MoneyQuantity'),
    ...alike(quantityNumber, 'decimal integer positiveInt unsignedInt'),
    Money: quantityMoney,
    Range: quantityRange,
    SampledData: quantitySampledData,
  }
}
