/** What waits for nobody is written together, a moment's worth at a time. */
// database: memory
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { TrailEvent } from '../../../plugins/audit/event.ts'
import { createEventQueue } from '../../../plugins/audit/intake/queue.ts'
import { createManualClock } from '../../support/manual-clock.ts'

const WINDOW_MS = 20
const event: TrailEvent = { at: 0, kind: 'read', status: 200 }
const log = { error() {} } as never

const queueOf = () => {
  const clock = createManualClock(0)
  const written: number[] = []
  const open: (() => void)[] = []
  const trail = {
    write(events: readonly TrailEvent[]) {
      written.push(events.length)
      return new Promise<void>((resolve) => open.push(resolve))
    },
    flush: async () => undefined,
  }
  const queue = createEventQueue({ trail, clock, log })
  queue.open()
  const push = (count: number): void => {
    for (let n = 0; n < count; n += 1) queue.push(event)
  }
  const end = async (): Promise<void> => {
    open.shift()?.()
    await new Promise(setImmediate)
  }
  return { clock, written, queue, push, end }
}

test('events that come while others are written wait for their own window', async () => {
  const { clock, written, push, end } = queueOf()
  push(10)
  assert.equal(written, [])
  await clock.advance(WINDOW_MS)
  assert.equal(written, [10])
  push(5)
  await end()
  assert.equal(written, [10], 'not one by one')
  push(2)
  await clock.advance(WINDOW_MS)
  assert.equal(written, [10, 7])
})

test('many are written at once, without the window, in slices', async () => {
  const { written, push, end } = queueOf()
  push(700)
  assert.equal(written, [512])
  await end()
  assert.equal(written, [512])
  push(400)
  await end()
  assert.equal(written, [512, 512])
})

test('a flush writes what was told before it, also what came while others were written', async () => {
  const { clock, written, queue, push, end } = queueOf()
  push(3)
  await clock.advance(WINDOW_MS)
  push(4)
  let isFlushed = false
  const flushed = queue.flush().then(() => {
    isFlushed = true
  })
  await end()
  assert.is(isFlushed, false)
  assert.equal(written, [3, 4])
  await end()
  await flushed
  assert.is(isFlushed, true)
})

test.run()
