/** Moments of versions as they are written: in milliseconds, whatever a stamp has beyond them. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { toHttpDate, toInstant } from '../../../plugins/storage/version-time.ts'

const MOMENTS: readonly (readonly [instant: string, httpDate: string])[] = [
  ['1970-01-01T00:00:00.000Z', 'Thu, 01 Jan 1970 00:00:00 GMT'],
  ['1999-12-31T23:59:59.999Z', 'Fri, 31 Dec 1999 23:59:59 GMT'],
  ['2000-02-29T12:00:00.010Z', 'Tue, 29 Feb 2000 12:00:00 GMT'],
  ['2024-02-29T23:59:59.100Z', 'Thu, 29 Feb 2024 23:59:59 GMT'],
  ['2024-03-01T00:00:00.001Z', 'Fri, 01 Mar 2024 00:00:00 GMT'],
  ['2100-02-28T23:59:59.999Z', 'Sun, 28 Feb 2100 23:59:59 GMT'],
  ['2100-03-01T00:00:00.000Z', 'Mon, 01 Mar 2100 00:00:00 GMT'],
  ['1969-12-31T23:59:59.999Z', 'Wed, 31 Dec 1969 23:59:59 GMT'],
]

test('a stamp is written as an instant and as an HTTP date, without its microseconds', () => {
  for (const [instant, httpDate] of MOMENTS) {
    const stamp = Date.parse(instant) * 1000 + 999
    assert.is(toInstant(stamp), instant)
    assert.is(toHttpDate(stamp), httpDate)
  }
})

test.run()
