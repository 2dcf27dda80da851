/** The pool: never more sessions than allowed, nobody waits for ever, and it recovers alone. */
// waits: for sessions that nobody gives back in time
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Lease } from '../../../../plugins/database/postgres/loan.ts'
import { createPool, type Pool, type PoolOptions } from '../../../../plugins/database/postgres/pool.ts'
import { createAuthority, type Issued } from '../../../support/certificates.ts'
import { type Access, accessPostgres, collectLog } from '../../../support/connect-postgres.ts'
import { type Postgres, startPostgres } from '../../../support/postgres.ts'
import { until } from '../../../support/until.ts'

let folder: string
let ca: Issued
let good: Issued
let server: Postgres
const open = new Set<Pool>()

test.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'refhir-tls-'))
  ca = await createAuthority('test ca')
  good = await ca.issue({ ip: ['127.0.0.1'] })
  await writeFile(join(folder, 'ca.pem'), ca.certificate)
  server = await startPostgres({ tls: good })
})
test.after(async () => {
  await server?.stop()
  await rm(folder, { recursive: true, force: true })
})
test.after.each(async () => {
  for (const pool of open) await pool.close(0)
  open.clear()
})

type Made = Pool & { readonly access: Access }
const poolOf = async (options: Partial<PoolOptions> = {}, parameters = '', connectTimeoutMs = 1_000): Promise<Made> => {
  const access = await accessPostgres(
    `host=127.0.0.1 port=${server.port} user=postgres application_name=pool ${parameters}`,
    { connectTimeoutMs },
  )
  const pool = createPool({
    connector: access.connector,
    size: 8,
    queue: 100,
    waitMs: 5_000,
    log: access.lines.log,
    ...options,
  })
  open.add(pool)
  return Object.assign(Object.create(pool), { access })
}
const ask = async ({ session }: Lease): Promise<number> => (await session.query('SELECT 1 AS one')).rows[0].one
const use = async (pool: Pool): Promise<number> => {
  const lease = await pool.acquire()
  try {
    return await ask(lease)
  } finally {
    lease.release()
  }
}
/** Fills the pool, and waits for connections that came too late for their borrowers. */
const fill = async (pool: Pool): Promise<void> => {
  const loans = await Promise.all(Array.from({ length: pool.status.size }, () => pool.acquire()))
  for (const lease of loans) lease.release()
  await until(() => pool.status.idle === pool.status.size, 5_000, 'the pool to be full')
}
const keyOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error) => error.key,
  )
const sessionsOf = async (): Promise<readonly Record<string, any>[]> =>
  server.admin(
    "SELECT a.pid, s.ssl FROM pg_stat_activity a JOIN pg_stat_ssl s USING (pid) WHERE a.application_name = 'pool'",
  )

test('there are never more sessions than the pool is allowed, and they are used again', async () => {
  const pool = await poolOf({ size: 3 })
  const answers = await Promise.all(Array.from({ length: 50 }, () => use(pool)))
  assert.equal(new Set(answers), new Set([1]))
  await until(() => pool.status.idle === 3, 5_000, 'the last connection to be made')
  assert.equal(pool.status, { size: 3, open: 3, idle: 3, waiting: 0 })
  assert.is((await sessionsOf()).length, 3)
  const lease = pool.tryAcquire()
  assert.ok(lease)
  assert.is(pool.status.idle, 2)
  lease.release()
  assert.throws(() => lease.release(), /given back twice/)
})

test('borrowers are served in the order they came', async () => {
  const pool = await poolOf({ size: 1 })
  const first = await pool.acquire()
  const order: number[] = []
  const rest = [1, 2, 3].map(async (number) => {
    const lease = await pool.acquire()
    order.push(number)
    lease.release()
  })
  assert.is(pool.status.waiting, 3)
  assert.is(pool.tryAcquire(), undefined)
  first.release()
  await Promise.all(rest)
  assert.equal(order, [1, 2, 3])
})

test('one session is never lent for long work, so that a read inside a transaction cannot wait for itself', async () => {
  const pool = await poolOf({ size: 3 })
  const transactions = [await pool.acquire({ long: true }), await pool.acquire({ long: true })]
  let third: Lease | undefined
  const waiting = pool.acquire({ long: true }).then((lease) => {
    third = lease
  })
  assert.is(await use(pool), 1)
  assert.is(await use(pool), 1, 'a read does not queue behind a transaction that waits')
  assert.is(third, undefined)
  assert.is(pool.tryAcquire({ long: true }), undefined)
  assert.equal(pool.status, { size: 3, open: 3, idle: 1, waiting: 1 })
  transactions[0]!.release()
  await waiting
  third!.release()
  transactions[1]!.destroy()
  const again = await Promise.all([pool.acquire({ long: true }), pool.acquire({ long: true })])
  for (const lease of again) lease.release()
})

test('the queue is bounded, in number and in time, and a waiter may leave it', async () => {
  const pool = await poolOf({ size: 1, queue: 2, waitMs: 1_000 })
  const lease = await pool.acquire()
  const leaving = new AbortController()
  const gone = keyOf(pool.acquire({ signal: leaving.signal }))
  const late = keyOf(pool.acquire())
  assert.is(await keyOf(pool.acquire()), 'database/pool-exhausted')
  leaving.abort(Object.assign(new Error('left'), { key: 'left' }))
  assert.is(await gone, 'left')
  assert.is(pool.status.waiting, 1)
  assert.is(await late, 'database/pool-exhausted')
  assert.is(pool.status.waiting, 0)
  lease.release()
  assert.is(await use(pool), 1)
})

test('a session that is still in a transaction is not lent again', async () => {
  const pool = await poolOf({ size: 1 })
  const lease = await pool.acquire()
  const { processID } = lease.session.backend
  await lease.session.query('BEGIN')
  lease.release()
  const next = await pool.acquire()
  assert.is.not(next.session.backend.processID, processID)
  await next.session.query('SELECT broken').catch(() => {})
  next.release()
  const third = await pool.acquire()
  assert.is(third.session.backend.processID, next.session.backend.processID, 'a failed statement alone does no harm')
  third.destroy()
  assert.is(await use(pool), 1)
})

test('a session that was cut is not lent again, even when it comes back at once', async () => {
  const pool = await poolOf({ size: 2 })
  const lease = await pool.acquire()
  lease.session.destroy()
  lease.release()
  assert.is(pool.status.idle, 0)
  assert.is(await use(pool), 1)
})

test('a session the server ends is replaced, idle or on loan', async () => {
  const pool = await poolOf({ size: 2 })
  const lease = await pool.acquire()
  await use(pool)
  assert.is(pool.status.open, 2)
  const running = lease.session.query('SELECT pg_sleep(60)').catch((error) => error.code)
  await until(async () => (await sessionsOf()).length === 2, 5_000, 'both sessions')
  await server.admin("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'pool'")
  assert.is(await running, '57P01')
  await until(() => pool.status.open === 0, 5_000, 'the pool to notice')
  lease.release()
  assert.is(await use(pool), 1)
})

test('while the server is away borrowers are told soon, and it is asked at growing intervals', async () => {
  let attempts = 0
  const { log, at } = collectLog()
  const pool = createPool({
    connector: {
      connect: async () => {
        attempts += 1
        throw new Error('away')
      },
      cancel: async () => {},
    },
    size: 8,
    queue: 1_000,
    waitMs: 5_000,
    log,
  })
  open.add(pool)
  const begun = performance.now()
  const keys = await Promise.all(Array.from({ length: 200 }, () => keyOf(pool.acquire())))
  assert.equal(new Set(keys), new Set(['database/unavailable']))
  const burst = attempts
  assert.ok(burst <= 8)
  for (let round = 0; round < 3; round += 1) assert.is(await keyOf(pool.acquire()), 'database/unavailable')
  await Promise.all(Array.from({ length: 50 }, () => keyOf(pool.acquire())))
  // One knock each, after pauses of 100 and more: never one for each borrower.
  assert.is(attempts, burst + 4)
  assert.ok(performance.now() - begun > 300)
  assert.is(at('warn').length, 1)
})

test('however many writes a read-only database refuses, sessions are replaced at growing intervals only', async () => {
  let now = 0
  const pool = await poolOf({ size: 4, now: () => now })
  const replaced = async (): Promise<boolean> => {
    const lease = await pool.acquire()
    const { processID } = lease.session.backend
    pool.retireReadOnly(lease.session)
    lease.release()
    const next = await pool.acquire()
    next.release()
    return next.session.backend.processID !== processID
  }
  assert.is(await replaced(), true, 'the first time at once')
  for (let refused = 0; refused < 20; refused += 1) assert.is(await replaced(), false)
  assert.ok(pool.retiring, 'whoever waits for new sessions gets them')
  await pool.retiring
  assert.is(pool.status.open, 0)
  assert.is(pool.retiring, undefined)
  now += 60_000
  assert.is(await replaced(), true, 'in another outage at once again')
})

for (const mode of ['fast', 'immediate', 'kill'] as const)
  test(`after a restart of the server (${mode}) the pool works again without help`, async () => {
    const pool = await poolOf()
    await fill(pool)
    await server.restart(mode, async () => {
      // The first may still be lent a session whose end has not been heard yet.
      assert.is.not(await keyOf(use(pool)), 'done')
      await until(() => pool.status.open === 0, 5_000, 'the pool to notice')
      assert.is(await keyOf(use(pool)), 'database/unavailable')
    })
    assert.is(await use(pool), 1)
    assert.is(pool.access.lines.at('warn').length, 1)
    assert.is(pool.access.lines.at('info').length, 1)
  })

test('a server that stands still is noticed within the deadlines, and nothing piles up', async () => {
  const pool = await poolOf({ size: 2, waitMs: 100 }, '', 100)
  const loans = [await pool.acquire(), await pool.acquire()]
  server.freeze()
  try {
    assert.is(await keyOf(pool.acquire()), 'database/pool-exhausted')
    for (const lease of loans) {
      const answer = keyOf(ask(lease))
      lease.destroy()
      await answer
    }
    assert.match(await keyOf(pool.acquire()), /unavailable|exhausted/)
    assert.is(pool.status.waiting, 0)
  } finally {
    server.thaw()
  }
  await until(async () => (await keyOf(use(pool))) === 'done', 5_000, 'the pool to recover')
})

test('a server that comes back with a bad certificate is not used, not even in the clear, until it has a good one', async () => {
  const pool = await poolOf({ waitMs: 2_000 }, `sslmode=verify-full sslrootcert=${folder}/ca.pem`)
  await fill(pool)
  assert.equal(new Set((await sessionsOf()).map(({ ssl }) => ssl)), new Set([true]))
  assert.is((await sessionsOf()).length, 8)
  const bad = await ca.issue({ cn: '127.0.0.1' })
  await server.restart('fast', () => server.writeCertificate(bad))
  const begun = performance.now()
  let rounds = 0
  // What readiness does: a query that must answer within two seconds.
  while (performance.now() - begun < 900) {
    assert.is(await keyOf(use(pool)), 'database/unavailable')
    assert.equal(await sessionsOf(), [])
    rounds += 1
  }
  assert.ok(rounds > 1)
  await server.useCertificate(good)
  await until(async () => (await keyOf(use(pool))) === 'done', 3_000, 'the pool to recover')
  assert.ok((await sessionsOf()).every(({ ssl }) => ssl === true))
})

test('closing waits for loans, refuses newcomers and leaves no session behind', async () => {
  const pool = await poolOf({ size: 2 })
  const lease = await pool.acquire()
  await use(pool)
  const closing = pool.close(5_000)
  assert.is(await keyOf(pool.acquire()), 'database/pool-closed')
  assert.is(await ask(lease), 1)
  lease.release()
  await closing
  await until(async () => (await sessionsOf()).length === 0, 5_000, 'the sessions to end')
})

test('closing cuts a loan that does not come back in time', async () => {
  const pool = await poolOf({ size: 1 })
  const lease = await pool.acquire()
  const running = lease.session.query('SELECT pg_sleep(60)').catch((error) => error.message)
  await pool.close(50)
  assert.match(await running, /terminated/)
  lease.release()
})

test.run()
