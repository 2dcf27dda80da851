/** Work that repeats on the injected clock. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { every } from '../../kernel/index.ts'
import { createManualClock } from '../support/manual-clock.ts'

const noError = (error: unknown): never => {
  throw error
}

test('it is done every so many milliseconds until it is stopped', async () => {
  const clock = createManualClock()
  let count = 0
  const work = async (): Promise<void> => {
    count += 1
  }
  const repeating = every(clock, 1000, work, noError)
  await clock.advance(999)
  assert.is(count, 0)
  await clock.advance(1)
  assert.is(count, 1)
  await clock.advance(2500)
  assert.is(count, 3)
  await repeating.stop()
  await clock.advance(5000)
  assert.is(count, 3)
})

test('work that takes long is not begun twice, and who asks for it now joins it', async () => {
  const clock = createManualClock()
  let count = 0
  const { promise, resolve } = Promise.withResolvers<void>()
  const repeating = every(
    clock,
    1000,
    () => {
      count += 1
      return promise
    },
    noError,
  )
  await clock.advance(10_000)
  const joined = repeating.now()
  assert.is(count, 1)
  resolve()
  await joined
  await repeating.stop()
})

test('what it throws is told, and it is done again', async () => {
  const clock = createManualClock()
  const told: unknown[] = []
  const repeating = every(
    clock,
    1000,
    () => Promise.reject('no'),
    (error) => void told.push(error),
  )
  await clock.advance(3000)
  assert.equal(told, ['no', 'no', 'no'])
  await repeating.stop()
})

test('stop waits for the work that runs', async () => {
  const clock = createManualClock()
  const { promise, resolve } = Promise.withResolvers<void>()
  const repeating = every(clock, 1000, () => promise, noError)
  await clock.advance(1000)
  let stopped = false
  const stopping = repeating.stop().then(() => {
    stopped = true
  })
  await Promise.resolve()
  assert.not.ok(stopped)
  resolve()
  await stopping
})

test.run()
