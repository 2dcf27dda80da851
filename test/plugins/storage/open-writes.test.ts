/** The time up to which all versions are known: behind no transaction that is open. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Database, Transaction } from '../../../plugins/database/service.ts'
import { createOpenWrites } from '../../../plugins/storage/open-writes.ts'
import { createVersionClock } from '../../../plugins/storage/version-time.ts'
import { createManualClock } from '../../support/manual-clock.ts'

const START = Date.UTC(2026, 0, 15, 12)

test('the end of a millisecond is behind all times before, and in front of all that follow', () => {
  const clock = createManualClock(START)
  for (const writer of [undefined, 0, 7]) {
    const times = createVersionClock(clock, 0, writer)
    const before = times.next()
    const end = times.endMillisecond()
    assert.is(end, START * 1000 + 999)
    assert.ok(before <= end && times.next() > end)
    assert.is(times.endMillisecond(), START * 1000 + 1999)
  }
})

test('a transaction counts from its first statement to its end, and is waited for a second at most', async () => {
  const clock = createManualClock(START)
  const times = createVersionClock(clock, 0)
  const writes = createOpenWrites(times.next, clock)
  const transact = async (work: (transaction: Transaction) => unknown) => work({} as Transaction)
  const database = writes.watch({ kind: 'postgres', transact } as unknown as Database)
  assert.is(writes.oldest, undefined)
  await writes.settle()
  const gate = Promise.withResolvers<void>()
  const done = database.transact(() => gate.promise)
  const begun = writes.oldest as number
  assert.ok(begun < times.next())
  let isSettled = false
  const settling = writes.settle().then(() => {
    isSettled = true
  })
  await clock.advance(900)
  assert.is(isSettled, false)
  await clock.advance(200)
  await settling
  assert.is(writes.oldest, begun)
  const next = writes.settle()
  gate.resolve()
  await Promise.all([done, next])
  assert.is(writes.oldest, undefined)
  await database.transact(() => Promise.reject(new Error('undone'))).catch(() => undefined)
  assert.is(writes.oldest, undefined)
})

test.run()
