/** Rules of the writer lease by which a holder stops answering and another server takes over. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createTaker, type TakerLook } from '../../../plugins/database/lease/taker.ts'
import { createTenure } from '../../../plugins/database/lease/tenure.ts'
import { TIMES } from '../../../plugins/database/lease/times.ts'
import { createManualClock } from '../../support/manual-clock.ts'

test('a holder answers for four seconds from when it sent the last confirmed beat, not from when that was answered', async () => {
  const clock = createManualClock()
  const tenure = createTenure(clock, TIMES)
  assert.not.ok(tenure.isValid())
  const sent = tenure.now()
  await clock.advance(1_500)
  tenure.confirm(sent)
  await clock.advance(2_499)
  assert.ok(tenure.isValid())
  await clock.advance(1)
  assert.not.ok(tenure.isValid())
})

test('a holder whose time of day ran on, as on a machine that was suspended, answers nothing until the next confirmed beat', () => {
  const clock = createManualClock()
  const tenure = createTenure(clock, TIMES)
  tenure.confirm(tenure.now())
  clock.set(clock.now() + 1_999)
  assert.ok(tenure.isValid())
  clock.set(clock.now() + 1)
  assert.not.ok(tenure.isValid())
  tenure.confirm(tenure.now())
  assert.ok(tenure.isValid())
  clock.set(clock.now() - 3_600_000)
  assert.ok(tenure.isValid(), 'a time of day that was set back says nothing')
})

const row = { epoch: 3, beat: 7, isReleased: false, server: 'a', host: 'h', boot: 'b', pid: 1, build: '' }
const looksOf = (isGone = false) => {
  const taker = createTaker({ times: TIMES, isGone: () => isGone })
  return {
    ...taker,
    /** A look whose answer took 100 ms. */
    at: (sentAt: number, hasLock: boolean, more: Partial<typeof row> = {}) =>
      taker.decide({ hasLock, row: { ...row, ...more }, sentAt, receivedAt: sentAt + 100 } satisfies TakerLook),
  }
}

test('with the lock the lease is taken when the beat was unchanged from the answer of one look to the sending of another', () => {
  const { at } = looksOf()
  assert.is(at(0, true), 'wait')
  assert.is(at(4_499, true), 'wait')
  assert.is(at(4_500, true), 'take')
})

test('without the lock a holder of an old beat is ended first, and then the lease is taken', () => {
  const { at } = looksOf()
  assert.is(at(0, false), 'wait')
  assert.is(at(8_099, false), 'wait')
  assert.is(at(8_100, false), 'evict')
  assert.is(at(8_600, false), 'take')
})

test('a beat that changes begins the watch anew, and gives the lock back to its holder', () => {
  const { at } = looksOf()
  at(0, true)
  assert.is(at(4_400, true, { beat: 8 }), 'unlock')
  assert.is(at(8_000, false, { beat: 8 }), 'wait')
})

test('after a look that failed the watch begins anew', () => {
  const { at, restart } = looksOf()
  at(0, true)
  restart()
  assert.is(at(4_500, true), 'wait')
})

test('a lease that was released, or whose process is gone, is taken with the lock at once, and not without it', () => {
  assert.is(looksOf().at(0, true, { isReleased: true }), 'take')
  assert.is(looksOf().at(0, false, { isReleased: true }), 'wait')
  assert.is(looksOf(true).at(0, true), 'take')
  assert.is(looksOf(true).at(0, false), 'wait')
})

test.run()
