/** Converts dates, periods and timings to ranges of milliseconds. https://hl7.org/fhir/R4/search.html#date */
import { type DateBounds, MAX_TIME, MIN_TIME, readDateBounds } from '../../../model/service.ts'
import { isObject, type Json, listOf } from '../../definition/kind.ts'
import { WIDE_OFFSET, WIDE_RANGE_MS } from '../../definition/wide-ranges.ts'
import type { IndexEntries } from '../index-entries.ts'
import { alike, type Convert } from './convert.ts'

export const createDateConverters = (): Readonly<Record<string, Convert>> => {
  const span: DateBounds = { lo: 0, hi: 0 }
  const addDate = (rows: IndexEntries, column: number, lo: number, hi: number): void => {
    rows.date.push(hi - lo > WIDE_RANGE_MS ? column + WIDE_OFFSET : column, lo, hi)
  }
  const dateMoment: Convert = (rows, column, value) => {
    if (typeof value === 'string' && readDateBounds(value, span)) addDate(rows, column, span.lo, span.hi)
  }
  const datePeriod: Convert = (rows, column, value: Json) => {
    let lo = MIN_TIME
    let hi = MAX_TIME
    let known = false
    if (typeof value.start === 'string' && readDateBounds(value.start, span)) {
      lo = span.lo
      known = true
    }
    if (typeof value.end === 'string' && readDateBounds(value.end, span)) {
      hi = span.hi
      known = true
    }
    if (known) addDate(rows, column, lo, hi)
  }
  const dateTiming: Convert = (rows, column, value: Json) => {
    let lo = MAX_TIME
    let hi = MIN_TIME
    for (const event of listOf(value.event))
      if (typeof event === 'string' && readDateBounds(event, span)) {
        if (span.lo < lo) lo = span.lo
        if (span.hi > hi) hi = span.hi
      }
    if (hi > lo) addDate(rows, column, lo, hi)
    const bounds = isObject(value.repeat) ? value.repeat.boundsPeriod : undefined
    if (isObject(bounds)) datePeriod(rows, column, bounds)
  }
  return { ...alike(dateMoment, 'date dateTime instant'), Period: datePeriod, Timing: dateTiming }
}
