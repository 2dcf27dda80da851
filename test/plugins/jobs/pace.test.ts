/** How a job gives way to requests: how long it works in one turn, and how long it rests. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createPace, type Pace } from '../../../plugins/jobs/pace.ts'

interface Turns {
  readonly pace: Pace
  /** Rests until now, in milliseconds. */
  readonly rests: number[]
  /** Works so long, and asks for a rest. */
  work(ms: number): Promise<void>
}

/** `busy`: share of a rest in which others work. */
const turns = (busy: () => number): Turns => {
  let now = 0
  const rests: number[] = []
  const sleep = async (ms: number): Promise<void> => {
    rests.push(ms)
    now += ms
  }
  const pace = createPace({ now: () => now, sleep, observe: () => busy })
  return {
    pace,
    rests,
    async work(ms) {
      now += ms
      await pace.pause()
    },
  }
}
const sum = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0)

test('work of less than two milliseconds goes on; then there is a rest that is at least as long', async () => {
  const { rests, work } = turns(() => 0)
  await work(1.5)
  assert.equal(rests, [])
  await work(1)
  assert.equal(rests, [2.5])
  await work(7)
  assert.equal(rests, [2.5, 7])
})

test('while requests keep the server busy rests grow up to 16 times the work, and shrink again after', async () => {
  let busy = 0.9
  const { rests, work } = turns(() => busy)
  const restOf = async (): Promise<number> => {
    rests.length = 0
    await work(2)
    return sum(rests)
  }
  const grown = []
  for (let n = 0; n < 6; n += 1) grown.push(await restOf())
  assert.equal(grown, [4, 8, 16, 32, 32, 32])
  busy = 0
  await restOf()
  busy = 0.9
  assert.is(await restOf(), 32)
  busy = 0
  for (let n = 0; n < 5; n += 1) assert.is(await restOf(), 2)
  busy = 0.9
  assert.is(await restOf(), 4)
})

test('what threads worked is rested for while requests keep the server busy, and costs a moment while they do not', async () => {
  for (const [busy, rested] of [
    [0, 1],
    [1, 21],
  ] as const) {
    const { pace, rests, work } = turns(() => busy)
    pace.resume(20)
    await work(0)
    assert.is(sum(rests), rested)
    await work(0)
    assert.is(sum(rests), rested)
  }
})

test('no rest is longer than half a second at once', async () => {
  const { rests, work } = turns(() => 1)
  for (let n = 0; n < 8; n += 1) await work(100)
  assert.ok(rests.every((ms) => ms <= 500))
})

test.run()
