/** The writer lease in PostgreSQL: who may begin an epoch, and whose beat counts. */
import pg from 'pg'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createKernel, systemClock } from '../../../../kernel/index.ts'
import database from '../../../../plugins/database/index.ts'
import type { Claimant, LeasePort } from '../../../../plugins/database/lease/lease-port.ts'
import { TIMES } from '../../../../plugins/database/lease/times.ts'
import { createLeaseSession } from '../../../../plugins/database/postgres/lease-session.ts'
import { accessPostgres } from '../../../support/connect-postgres.ts'
import { type Postgres, startPostgres } from '../../../support/postgres.ts'
import { until } from '../../../support/until.ts'

const claimant = (server: string): Claimant => ({ server, host: 'h', boot: '', pid: 1, build: '' })

let server: Postgres
let url: string
let onlooker: pg.Client
let one: LeasePort
let other: LeasePort
let terms = 0

const open = async (): Promise<LeasePort> => {
  const { connect } = await accessPostgres(url)
  const newTerm = (): string => {
    terms += 1
    return `term${terms}`
  }
  return createLeaseSession({ session: await connect(), clock: systemClock, times: TIMES, newTerm })
}
test.before(async () => {
  server = await startPostgres()
  await server.createDatabase('leased')
  url = server.url(undefined, 'leased')
  // A server makes the tables, and leaves.
  const settings = { database: { kind: 'postgres', postgres_url: url } }
  const kernel = await createKernel({ plugins: [database], settings, log: { level: 'silent' } })
  await kernel.start()
  await kernel.stop()
  onlooker = new pg.Client(url)
  await onlooker.connect()
  one = await open()
  other = await open()
})
test.after(async () => {
  one.close()
  other.close()
  await onlooker.end()
  await server.stop()
})
const outcomeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    () => 'failed',
  )
/** Not by a look, which would take the lock. */
const rowOf = async (): Promise<{ readonly epoch: number; readonly beat: number }> =>
  (await onlooker.query('SELECT epoch::int, beat::int FROM cluster_lease')).rows[0]

test('of two that saw the same lease one begins an epoch', async () => {
  const seen = await rowOf()
  const taken = await one.take(claimant('one'), seen)
  assert.is(taken?.epoch, seen.epoch + 1)
  assert.is(await other.take(claimant('other'), seen), undefined)
})

test('a beat since the look keeps the epoch', async () => {
  const seen = await rowOf()
  assert.ok(await one.beat(seen.epoch, 0))
  assert.is(await other.take(claimant('other'), seen), undefined)
  assert.is((await rowOf()).epoch, seen.epoch)
})

test('a holder with a new connection begins an epoch of its own, unless another server holds the lease or it was released', async () => {
  const seen = await rowOf()
  assert.is(await other.renew(claimant('other'), seen.epoch), undefined)
  const renewed = await one.renew(claimant('one'), seen.epoch)
  assert.is(renewed?.epoch, seen.epoch + 1)
  assert.is(await one.renew(claimant('one'), seen.epoch), undefined, 'of an epoch that is over')
  await one.release(seen.epoch + 1)
  assert.is(await one.renew(claimant('one'), seen.epoch + 1), undefined)
})

test('a beat counts in its own epoch only, and where the fence is of that epoch', async () => {
  const seen = await rowOf()
  const taken = await other.take(claimant('other'), seen)
  assert.ok(taken)
  const { epoch } = taken
  assert.ok(await other.beat(epoch, 0))
  assert.is(await one.beat(epoch - 1, 0), undefined)
  await onlooker.query('UPDATE cluster_mark SET epoch = epoch + 1')
  assert.is(await other.beat(epoch, 0), undefined)
  // The next epoch is above both.
  const next = await one.take(claimant('one'), await rowOf())
  assert.is(next?.epoch, epoch + 2)
})

test('a transaction that holds the rows is ended by who takes over', async () => {
  const blocking = new pg.Client(url)
  blocking.on('error', () => undefined)
  await blocking.connect()
  await blocking.query('BEGIN; UPDATE cluster_mark SET seq = seq + 1')
  const seen = await rowOf()
  const { rows } = await onlooker.query('SELECT seq::int FROM cluster_mark')
  const taken = await one.take(claimant('one'), seen)
  assert.is(taken?.epoch, seen.epoch + 1)
  assert.is(taken?.seq, rows[0].seq, 'what it did is undone')
  assert.is(await outcomeOf(blocking.query('COMMIT')), 'failed')
  await blocking.end().catch(() => undefined)
})

test('the lock is of one session, is given back, and is taken away', async () => {
  assert.is((await one.look(false)).hasLock, true)
  assert.is((await other.look(false)).hasLock, false)
  await one.unlock()
  assert.is((await other.look(false)).hasLock, true)
  await one.evict()
  await until(async () => (await one.look(false)).hasLock, 5_000, 'the lock')
  assert.is(await outcomeOf(other.look(true)), 'failed')
})

test.run()
