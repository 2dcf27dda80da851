/** Events that a server leaves beside the one that writes are there once, also where the answer to it was lost. */
// database: memory
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createKeyRing } from '../../../plugins/audit/chain/key.ts'
import type { TrailEvent } from '../../../plugins/audit/event.ts'
import { createLeaveBeside } from '../../../plugins/audit/inbox/leave-beside.ts'
import type { Database, SqlParam, StatementRunner } from '../../../plugins/database/service.ts'
import { createManualClock } from '../../support/manual-clock.ts'

const keys = createKeyRing('a key of the chain for tests', [])
const head = { key: keys.current.id, chain: Buffer.alloc(16) }
const event: TrailEvent = { at: 1, kind: 'request', status: 503 }

/** A database that loses the answers to the first `cuts` inserts, and takes `ms` for each of them. */
const placeOf = (cuts: number, ms: number, hasTrail = true) => {
  const rows = new Map<string, readonly SqlParam[]>()
  const clock = createManualClock(0)
  let asked = 0
  const session: StatementRunner = {
    get: async <R>() => (hasTrail ? (head as R) : undefined),
    async run(_statement, params) {
      asked += 1
      const place = params.slice(0, 2).join()
      if (!rows.has(place)) rows.set(place, params)
      await clock.advance(ms)
      if (asked <= cuts) throw new Error('the connection was lost')
    },
  }
  const beside: Database['beside'] = (work) => work(session)
  const leave = createLeaveBeside({ database: { beside }, keys, clock, random: { id: () => 'process' } })
  return { leave, rows }
}

test('they are written again as they were where the answer was lost', async () => {
  const { leave, rows } = placeOf(1, 0)
  await leave([event, event])
  assert.equal([...rows.keys()], ['process,1'])
})

test('they are written twice at most, and once where that took long', async () => {
  const lost = async (leave: (events: readonly TrailEvent[]) => Promise<void>): Promise<string> =>
    leave([event]).then(
      () => 'written',
      (error) => (error as Error).message,
    )
  assert.is(await lost(placeOf(2, 0).leave), 'the connection was lost')
  assert.is(await lost(placeOf(1, 2_000).leave), 'the connection was lost')
})

test('a database without a trail takes none', async () => {
  const { leave, rows } = placeOf(0, 0, false)
  const refusal = await leave([event]).catch((error) => (error as Error).message)
  assert.is(refusal, 'the database has no audit trail yet')
  assert.is(rows.size, 0)
})

test.run()
