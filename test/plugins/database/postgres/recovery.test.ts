/** The Database service while PostgreSQL restarts or stands still: refusals in time, and recovery without help. */
// waits: for PostgreSQL that restarts or stands still
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createKernel, type Kernel } from '../../../../kernel/index.ts'
import database from '../../../../plugins/database/index.ts'
import { createPool } from '../../../../plugins/database/postgres/pool.ts'
import { createPostgresReader } from '../../../../plugins/database/postgres/reader.ts'
import { createGroupRunner } from '../../../../plugins/database/postgres/run-group.ts'
import { createTransactions } from '../../../../plugins/database/postgres/transactions.ts'
import { type CommitParticipant, Database, type SqlParam, sql } from '../../../../plugins/database/service.ts'
import { createAuthority } from '../../../support/certificates.ts'
import { accessPostgres } from '../../../support/connect-postgres.ts'
import { temporaryFolder } from '../../../support/database-kinds.ts'
import { type Postgres, startPostgres } from '../../../support/postgres.ts'
import { startTcpProxy } from '../../../support/tcp-proxy.ts'
import { until } from '../../../support/until.ts'

let server: Postgres
let kernel: Kernel
let db: Database
test.before(async () => {
  server = await startPostgres()
  await server.createDatabase('main')
  kernel = await createKernel({
    plugins: [database],
    settings: { database: { kind: 'postgres', postgres_url: server.url(undefined, 'main') }, cluster: { db_pool: 3 } },
    log: { level: 'silent' },
  })
  await kernel.start()
  db = kernel.get(Database)
})
test.after(async () => {
  await kernel?.stop()
  await server?.stop()
})

const keyOf = (work: unknown): Promise<string> =>
  Promise.resolve(work).then(
    () => 'done',
    (error) => error.key ?? error.code ?? error.message,
  )

test('after every kind of restart the service works again, and reads in between are refused with 503', async () => {
  const one = sql('t.again', 'SELECT 1 AS one')
  for (const mode of ['fast', 'immediate', 'kill'] as const) {
    await server.restart(mode, async () => {
      for (const outcome of await Promise.allSettled([
        db.get(one, []),
        db.longQuery(one, []),
        db.transact((transaction) => transaction.run(one, [])),
      ])) {
        assert.is(outcome.status, 'rejected')
        assert.is((outcome as PromiseRejectedResult).reason.status, 503)
      }
      await until(async () => (await kernel.readiness()).status === 'unavailable', 3_000, 'readiness to notice')
    })
    await until(async () => (await keyOf(db.get(one, []))) === 'done', 5_000, 'reads to work')
    assert.is(await keyOf(db.transact((transaction) => transaction.run(one, []))), 'done')
    await until(async () => (await kernel.readiness()).status === 'ok', 5_000, 'readiness')
  }
})

test('reads of a server that stands still are given up in time, and it is used again when it moves', async () => {
  const { connector, lines } = await accessPostgres(`${server.url(undefined, 'main')}?application_name=still`, {
    connectTimeoutMs: 100,
  })
  const pool = createPool({ connector, size: 2, queue: 1_000, waitMs: 300, log: lines.log })
  const reader = createPostgresReader({ pool, queue: 1_000, answerMs: 150 })
  const one = sql('t.still', 'SELECT 1 AS one')
  const ask = (params: readonly SqlParam[] = []): Promise<string> => keyOf(reader.all(one, params))
  assert.is(await ask(), 'done')
  server.freeze()
  try {
    const begun = performance.now()
    const answers = await Promise.all(Array.from({ length: 300 }, () => ask()))
    assert.ok(performance.now() - begun < 5_000)
    assert.not.ok(answers.includes('done'))
    assert.ok(answers.every((key) => key === 'database/unavailable' || key === 'database/pool-exhausted'))
    assert.is(reader.waiting, 0)
  } finally {
    server.thaw()
  }
  await until(async () => (await ask()) === 'done', 5_000, 'reads to work')
  await pool.close(1_000)
})

test('a long statement is waited for as long as the server works on it, and a silent connection is not', async () => {
  const proxy = await startTcpProxy(server.port)
  const { connector, lines } = await accessPostgres(
    `${server.url(undefined, 'main').replace(`:${server.port}`, `:${proxy.port}`)}?application_name=quiet`,
    { connectTimeoutMs: 200 },
  )
  const pool = createPool({ connector, size: 3, queue: 10, waitMs: 1_000, log: lines.log })
  const send = createGroupRunner({ connector, pool, silenceMs: 100 })
  const sleep = sql('t.quiet', 'SELECT pg_sleep(?::float8) AS slept')
  const ask = async (seconds: number): Promise<string> => {
    const lease = await pool.acquire({ long: true })
    const outcome = await keyOf(send(lease.session, [{ statement: sleep, params: [seconds] }]))
    lease.release()
    return outcome
  }
  try {
    assert.is(await ask(1), 'done')
    // Half-open: what is sent goes nowhere, and nobody says so. The commit of a transaction may meet the same.
    proxy.onClient = (chunk) => (chunk.includes('t.quiet') ? 'swallow' : 'pass')
    const lost = await ask(0)
    assert.not.equal(lost, 'done')
    proxy.onClient = () => 'pass'
    assert.is(await ask(0), 'done')
    server.freeze()
    const begun = performance.now()
    assert.not.equal(await ask(0), 'done')
    assert.ok(performance.now() - begun < 4_000)
  } finally {
    server.thaw()
    proxy.stop()
    await pool.close(100)
  }
})

test('connections that went silent together are given up together, not one after the other by those in line', async () => {
  const QUIET_MS = 1_000
  const TRANSACTIONS = 6
  const proxy = await startTcpProxy(server.port)
  const { connector, lines } = await accessPostgres(
    `${server.url(undefined, 'main').replace(`:${server.port}`, `:${proxy.port}`)}?application_name=silent`,
    { connectTimeoutMs: 2_000 },
  )
  const pool = createPool({ connector, size: TRANSACTIONS + 2, queue: 10, waitMs: 4_000, log: lines.log })
  const send = createGroupRunner({ connector, pool, silenceMs: QUIET_MS, askMs: 300 })
  const { transact } = createTransactions({ pool, send, now: () => performance.now(), queue: 10 })
  const one = sql('t.silent', 'SELECT 1 AS one')
  // Each closes in the line, which is one by one.
  const participant: CommitParticipant<number> = {
    beforeCommit: async (transaction) => void (await transaction.get(one, [])),
    finished: () => undefined,
    refuse: (cause) => cause as never,
  }
  const { promise: silent, resolve: goOn } = Promise.withResolvers<void>()
  let begun = 0
  const work = (): Promise<string> =>
    keyOf(
      transact(async (transaction) => {
        await transaction.get(one, [])
        begun += 1
        await silent
        transaction.beforeCommit(participant, 1)
      }),
    )
  try {
    const works = Array.from({ length: TRANSACTIONS }, work)
    await until(() => begun === TRANSACTIONS, 5_000, 'all to hold a session')
    proxy.silence()
    const started = performance.now()
    goOn()
    const outcomes = await Promise.all(works)
    assert.ok(performance.now() - started < (TRANSACTIONS / 2) * QUIET_MS)
    assert.not.ok(outcomes.includes('done'))
    assert.is(await work(), 'done')
  } finally {
    proxy.stop()
    await pool.close(100)
  }
})

test('when the server stands still, whoever holds a session and asks nothing loses it as well, without a wait of his own', async () => {
  const { connector, lines } = await accessPostgres(`${server.url(undefined, 'main')}?application_name=held`, {
    connectTimeoutMs: 200,
  })
  const pool = createPool({ connector, size: 3, queue: 10, waitMs: 1_000, log: lines.log })
  const send = createGroupRunner({ connector, pool, silenceMs: 100 })
  const statement = sql('t.held', 'SELECT 1 AS one')
  const loans = await Promise.all([{ long: true }, { long: true }, {}].map((wish) => pool.acquire(wish)))
  const [asking, holding, idle] = loans as [(typeof loans)[0], (typeof loans)[0], (typeof loans)[0]]
  idle.release()
  server.freeze()
  try {
    assert.not.equal(await keyOf(send(asking.session, [{ statement, params: [] }])), 'done')
    assert.not.ok(holding.session.isUsable)
  } finally {
    server.thaw()
    asking.release()
    holding.release()
    await pool.close(100)
  }
})

test('a server that comes back with a bad certificate makes the readiness fail and is never used in the clear', async () => {
  const folder = temporaryFolder()
  const ca = await createAuthority('test ca')
  const [good, bad] = [await ca.issue({ ip: ['127.0.0.1'] }), await ca.issue({ cn: '127.0.0.1' })]
  writeFileSync(join(folder.path, 'ca.pem'), ca.certificate)
  const secured = await startPostgres({ tls: good })
  const url = `${secured.url()}?application_name=tls&sslmode=verify-full&sslrootcert=${folder.path}/ca.pem`
  const one = await createKernel({
    plugins: [database],
    settings: { database: { kind: 'postgres', postgres_url: url } },
    log: { level: 'silent' },
  })
  const plain = async (): Promise<number> =>
    (
      await secured.admin(
        "SELECT 1 FROM pg_stat_activity JOIN pg_stat_ssl USING (pid) WHERE application_name = 'tls' AND NOT ssl",
      )
    ).length
  const isReady = async (): Promise<boolean> => (await one.readiness()).status === 'ok'
  try {
    await one.start()
    assert.ok(await isReady())
    await secured.restart('fast', () => secured.writeCertificate(bad))
    await until(async () => !(await isReady()), 3_000, 'readiness to notice')
    for (let round = 0; round < 20; round += 1) {
      assert.not.ok(await isReady())
      assert.is(await plain(), 0)
    }
    await secured.useCertificate(good)
    await until(isReady, 5_000, 'readiness')
    assert.is(await plain(), 0)
  } finally {
    await one.stop()
    await secured.stop()
    folder.remove()
  }
})

test.run()
