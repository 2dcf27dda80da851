/** Numbers of resources that several servers take from one sequence. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createBlockKeys } from '../../../plugins/storage/resource-keys.ts'
import { KEY_BLOCK } from '../../../plugins/storage/tables.ts'
import { createManualClock } from '../../support/manual-clock.ts'

/** A sequence that answers in the next turn of the event loop. */
const createSequence = () => {
  const sequence = {
    next: 1,
    questions: 0,
    isAway: false,
    async all<R>(_statement: unknown, [count]: readonly unknown[]): Promise<R[]> {
      sequence.questions += 1
      await new Promise(setImmediate)
      if (sequence.isAway) throw new Error('away')
      return Array.from({ length: Number(count) }, () => {
        const first = sequence.next
        sequence.next += KEY_BLOCK
        return { first: String(first) }
      }) as R[]
    },
  }
  return sequence
}

test('numbers that two servers take at once, thousands of them, are all different', async () => {
  const sequence = createSequence()
  const servers = [1, 2].map(() => createBlockKeys(sequence, createManualClock()))
  const taken = await Promise.all(Array.from({ length: 10_000 }, (_, n) => servers[n % 2]!.take()))
  assert.is(new Set(taken).size, taken.length)
  assert.ok(sequence.questions < 400, `${sequence.questions} questions`)
})

test('under steady use the next block is there before it is needed', async () => {
  const keys = createBlockKeys(createSequence(), createManualClock())
  await keys.take()
  let waits = 0
  for (let n = 0; n < 1_000; n += 1) {
    const taken = keys.take()
    if (taken instanceof Promise) waits += 1
    await taken
    await new Promise(setImmediate)
  }
  assert.is(waits, 0)
})

test('a server that was idle takes numbers behind those that others took meanwhile', async () => {
  const clock = createManualClock()
  const sequence = createSequence()
  const [one, other] = [createBlockKeys(sequence, clock), createBlockKeys(sequence, clock)]
  const first = await one.take()
  const meanwhile = await other.take()
  assert.ok(meanwhile > first)
  await clock.advance(10_000)
  assert.ok((await one.take()) > meanwhile)
})

test('a sequence that does not answer is told to whoever takes a number, and asked again by the next', async () => {
  const sequence = createSequence()
  const keys = createBlockKeys(sequence, createManualClock())
  sequence.isAway = true
  const refused = await Promise.resolve(keys.take()).then(String, (error: Error) => error.message)
  assert.is(refused, 'away')
  sequence.isAway = false
  assert.is(await keys.take(), 1)
})

test.run()
