/** Dates, periods and timings → the ranges they cover. https://hl7.org/fhir/R4/search.html#date */
import { EARLIEST, LATEST, type Range, readMoment } from '../../../model/service.ts'
import { alike, type Convert, isObject, type Json, listOf } from '../../definition/kind.ts'
import { WIDE, WIDE_MS } from '../../definition/wide-ranges.ts'
import type { Rows } from '../index-entries.ts'

export const createDateConverters = (): Readonly<Record<string, Convert>> => {
  const span: Range = { lo: 0, hi: 0 }
  const addDate = (rows: Rows, column: number, lo: number, hi: number): void => {
    rows.date.push(hi - lo > WIDE_MS ? column + WIDE : column, lo, hi)
  }
  const dateMoment: Convert = (rows, column, value) => {
    if (typeof value === 'string' && readMoment(value, span)) addDate(rows, column, span.lo, span.hi)
  }
  const datePeriod: Convert = (rows, column, value: Json) => {
    let lo = EARLIEST
    let hi = LATEST
    let known = false
    if (typeof value.start === 'string' && readMoment(value.start, span)) {
      lo = span.lo
      known = true
    }
    if (typeof value.end === 'string' && readMoment(value.end, span)) {
      hi = span.hi
      known = true
    }
    if (known) addDate(rows, column, lo, hi)
  }
  const dateTiming: Convert = (rows, column, value: Json) => {
    let lo = LATEST
    let hi = EARLIEST
    for (const event of listOf(value.event))
      if (typeof event === 'string' && readMoment(event, span)) {
        if (span.lo < lo) lo = span.lo
        if (span.hi > hi) hi = span.hi
      }
    if (hi > lo) addDate(rows, column, lo, hi)
    const bounds = isObject(value.repeat) ? value.repeat.boundsPeriod : undefined
    if (isObject(bounds)) datePeriod(rows, column, bounds)
  }
  return { ...alike(dateMoment, 'date dateTime instant'), Period: datePeriod, Timing: dateTiming }
}
