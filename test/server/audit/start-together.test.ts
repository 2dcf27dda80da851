/** Servers that open the trail of a fresh database at the same time. */
// npm test: postgres, where transactions overlap
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { systemClock } from '../../../kernel/index.ts'
import { createKeyRing } from '../../../plugins/audit/chain/key.ts'
import { lockHead } from '../../../plugins/audit/tables.ts'
import { openTrail } from '../../../plugins/audit/trail/open.ts'
import { Database, type Sql, type Transaction } from '../../../plugins/database/service.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import { audited, KEY, verdictOf } from './audited.ts'

/** A database whose first look at the head comes before another server made it, and all that follows after. */
const lateFor = (database: Database): Database => {
  let isFirst = true
  const late = (transaction: Transaction): Transaction =>
    Object.create(transaction, {
      get: {
        value: (statement: Sql, params: readonly []) => {
          if (statement !== lockHead || !isFirst) return transaction.get(statement, params)
          isFirst = false
          return undefined
        },
      },
    }) as Transaction
  const transact: Database['transact'] = (work, options) =>
    database.transact((transaction) => work(late(transaction)), options)
  return Object.create(database, { transact: { value: transact } }) as Database
}

test('a server that finds no head while another one makes it opens the trail of that one', async () => {
  const server = await audited()
  const errors: unknown[] = []
  const log = { info() {}, warn() {}, debug() {}, error: (...said: unknown[]) => void errors.push(said) } as never
  await openTrail({
    database: lateFor(server.get(Database)),
    keys: createKeyRing(KEY, []),
    clock: systemClock,
    log,
  })
  assert.equal(errors, [])
  assert.is((await verdictOf(server)).ok, true)
  await server.stop()
})

test('twelve servers that start at once on one fresh PostgreSQL database all start, with one chain', async () => {
  if (chosenKind.name !== 'postgres') return
  const fresh = await chosenKind.fresh()
  const servers = await Promise.all(
    Array.from({ length: 12 }, () => audited({ settings: fresh.settings, together: true })),
  )
  const [first] = servers as [(typeof servers)[0]]
  const { ok, head } = await verdictOf(first)
  assert.is(ok, true)
  assert.ok(head.seq >= 12, 'each start is in the trail')
  for (const server of servers) await server.stop()
  await fresh.remove()
})

test.run()
