/** Changes that other writers come before are tried again: at once at first, then with pauses that grow. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { systemClock } from '../../../kernel/index.ts'
import type { Database } from '../../../plugins/database/service.ts'
import { retryOnContention } from '../../../plugins/fhir/interactions/change.ts'
import { Contended } from '../../../plugins/storage/service.ts'

const tried = async (kind: Database['kind'], id: string) => {
  const asked: number[] = []
  let [attempts, transactions] = [0, 0]
  const parts = {
    database: {
      kind,
      transact: async () => {
        transactions += 1
      },
    } as unknown as Database,
    clock: {
      ...systemClock,
      monotonic: () => 0,
      deadline(ms: number) {
        asked.push(ms)
        return systemClock.deadline(0)
      },
    },
    random: { id: () => id },
  }
  const refused = await retryOnContention(parts, async () => {
    attempts += 1
    throw Contended()
  }).catch((error: unknown) => error)
  assert.is((refused as { key: string }).key, Contended.key)
  return { asked, attempts, transactions }
}

test('on PostgreSQL three attempts follow at once, the others after pauses that grow, half of them chance', async () => {
  const long = await tried('postgres', 'ffff0000-0000-4000-8000-000000000000')
  assert.is(long.attempts, 30)
  assert.equal(long.asked, [1, 2, 4, 8, 16, 32, ...new Array(21).fill(64)])
  const short = await tried('postgres', '00000000-0000-4000-8000-000000000000')
  assert.equal(short.asked, [1, 1, 2, 4, 8, 16, ...new Array(21).fill(32)])
})

test('on SQLite an attempt follows the COMMIT of the other writer, without a pause', async () => {
  const { asked, attempts, transactions } = await tried('sqlite', 'ffff0000-0000-4000-8000-000000000000')
  assert.is(attempts, 30)
  assert.is(transactions, 29)
  assert.equal(asked, [])
})

test.run()
