/** When servers that follow are notified of commits. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createAnnouncer } from '../../../plugins/database/feed/announcer.ts'
import type { FeedPosition } from '../../../plugins/database/feed/change-feed.ts'
import { createManualClock } from '../../support/manual-clock.ts'

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate)
}

/** `late`: milliseconds by which timers are late. */
const open = ({ late = 0 } = {}) => {
  const clock = createManualClock()
  const timers = { ...clock, deadline: (ms: number) => clock.deadline(ms + late) }
  const sent: { readonly seq: number; readonly at: number; readonly answer: (failure?: Error) => void }[] = []
  const announcer = createAnnouncer(timers, ({ seq }: FeedPosition) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    sent.push({
      seq,
      at: clock.monotonic(),
      answer: (failure) => (failure === undefined ? resolve() : reject(failure)),
    })
    return promise
  })
  return {
    clock,
    sent,
    announce: (seq: number): void => announcer.announce({ epoch: 1, seq }),
    async answer(which: number, failure?: Error): Promise<void> {
      sent[which]!.answer(failure)
      await turns()
    },
    times: () => sent.map(({ seq, at }) => [seq, at]),
  }
}

test('a commit is announced at once, and of those of the next five milliseconds the last one when they are over', async () => {
  const { clock, sent, announce, answer, times } = open()
  announce(1)
  assert.equal(times(), [[1, 0]])
  await answer(0)
  await clock.advance(2)
  announce(2)
  await clock.advance(2)
  announce(3)
  assert.equal(times(), [[1, 0]])
  await clock.advance(1)
  assert.equal(times(), [
    [1, 0],
    [3, 5],
  ])
  await answer(1)
  await clock.advance(30)
  assert.is(sent.length, 2)
  announce(4)
  assert.equal(times().at(-1), [4, 35])
})

test('a commit behind the five milliseconds does not wait for a timer that is late, and is announced once', async () => {
  const { clock, sent, announce, answer, times } = open({ late: 20 })
  announce(1)
  await answer(0)
  await clock.advance(1)
  announce(2)
  await clock.advance(6)
  assert.equal(times(), [[1, 0]])
  announce(3)
  assert.equal(times(), [
    [1, 0],
    [3, 7],
  ])
  await answer(1)
  await clock.advance(50)
  assert.is(sent.length, 2)
})

test('nothing is announced while an announcement has no answer, and the next one follows at once where that took long', async () => {
  const { clock, announce, answer, times } = open()
  announce(1)
  announce(2)
  await clock.advance(25)
  assert.equal(times(), [[1, 0]])
  await answer(0)
  assert.equal(times(), [
    [1, 0],
    [2, 25],
  ])
})

test('one that fails is not sent again, and the next one is sent', async () => {
  const { clock, announce, answer, times } = open()
  announce(1)
  await answer(0, new Error('the connection was lost'))
  await clock.advance(20)
  assert.equal(times(), [[1, 0]])
  announce(2)
  assert.equal(times().at(-1), [2, 20])
})

test.run()
