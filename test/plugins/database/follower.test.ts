/** A server that follows: when it looks for commits, and what a notification changes. */
import { pino } from 'pino'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createFeedHub } from '../../../plugins/database/feed/feed-hub.ts'
import type { FollowLook, FollowPort } from '../../../plugins/database/feed/follow-port.ts'
import { startFollower } from '../../../plugins/database/feed/follower.ts'
import { createManualClock } from '../../support/manual-clock.ts'

const log = pino({ level: 'silent' })
const self = { server: 's', host: '', boot: '', pid: 1, build: '' }

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate)
}

/** A database whose answers wait for the test. */
const open = () => {
  const clock = createManualClock()
  const state = { seq: 0, durable: 0, connections: 0 }
  const asked: { readonly what: string; readonly answer: () => void }[] = []
  const waits = <T>(what: string, result: () => T): Promise<T> =>
    new Promise((resolve) => asked.push({ what, answer: () => resolve(result()) }))
  let notify: (seq: number) => void = () => undefined
  const port: FollowPort = {
    async listen(given) {
      notify = given
    },
    look: (at) =>
      waits(
        'look',
        (): FollowLook => ({
          mark: { epoch: 1, seq: state.seq },
          durable: state.durable,
          epochs: [{ epoch: 1, term: 'a', firstSeq: 1 }],
          rows: Array.from({ length: state.seq - (at?.seq ?? state.seq) }, (_, n) => ({
            ...{ epoch: 1, seq: (at?.seq ?? 0) + n + 1 },
            body: '[]',
          })),
          hasMore: false,
          beat: '1.1',
        }),
      ),
    attend: () => waits('attend', () => undefined),
    dismiss: async () => undefined,
    close: () => undefined,
  }
  const hub = createFeedHub(log)
  const heard: number[] = []
  hub.feed.listen({ name: 'test', commit: ({ seq }) => void heard.push(seq), gap: () => void heard.push(-1) })
  const connect = async () => {
    state.connections += 1
    notify = () => undefined
    return port
  }
  return {
    state,
    asked,
    heard,
    clock,
    notify: (seq: number) => notify(seq),
    /** Answers what was asked first, and waits for what follows. */
    async answer(what: string) {
      const next = asked.shift()
      assert.is(next?.what, what)
      next?.answer()
      await turns()
    },
    started: startFollower({ connect, self, feed: hub, clock, log }),
  }
}

test('a notification during the first look is followed by a look of its own, not by one at the same time', async () => {
  const { state, asked, heard, notify, answer, started } = open()
  await turns()
  notify(0)
  await answer('attend')
  notify(0)
  state.seq = 1
  state.durable = 1
  assert.equal(
    asked.map(({ what }) => what),
    ['look'],
  )
  await answer('look')
  await started
  state.seq = 2
  notify(2)
  assert.is(state.connections, 1)
  await answer('look')
  await answer('look')
  assert.equal(heard, [2])
  assert.equal(asked, [])
})

test('a commit is published once a notification says that it is on disk, though the database does not record it yet', async () => {
  const { state, heard, notify, answer, started, clock } = open()
  await turns()
  await answer('attend')
  await answer('look')
  await started
  state.seq = 3
  await clock.advance(500)
  await answer('look')
  assert.equal(heard, [])
  notify(2)
  await answer('look')
  assert.equal(heard, [1, 2])
})

test.run()
