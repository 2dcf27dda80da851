/** Moments of versions as they are written: Date, which takes four times as long, is the oracle. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { toHttpDate, toInstant } from '../../../plugins/storage/version-time.ts'

const EDGES = [
  '1970-01-01T00:00:00.000Z',
  '1999-12-31T23:59:59.999Z',
  '2000-02-29T12:00:00.010Z',
  '2024-02-29T23:59:59.100Z',
  '2024-03-01T00:00:00.001Z',
  '2100-02-28T23:59:59.999Z',
  '2100-03-01T00:00:00.000Z',
  '1969-12-31T23:59:59.999Z',
]
// Every 11 days and some, over 270 years: every day of the year, every month, leap years or not.
const STEP_MS = 1_003_003_007
const many = Array.from({ length: 8_500 }, (_, at) => at * STEP_MS)

test('instants and HTTP dates are those of Date', () => {
  for (const millis of [...EDGES.map((text) => Date.parse(text)), ...many]) {
    const stamp = millis * 1000 + 999
    assert.is(toInstant(stamp), new Date(millis).toISOString())
    assert.is(toHttpDate(stamp), new Date(millis).toUTCString())
  }
})

test.run()
