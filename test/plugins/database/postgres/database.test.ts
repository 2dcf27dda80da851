/** The Database service on PostgreSQL where it differs from SQLite: values, many readers, slow queries, what is refused at start. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnyPlugin, createKernel, definePlugin, type Kernel } from '../../../../kernel/index.ts'
import database from '../../../../plugins/database/index.ts'
import { Database, sql } from '../../../../plugins/database/service.ts'
import { type Postgres, startPostgres } from '../../../support/postgres.ts'
import { until } from '../../../support/until.ts'
import { writersTogether } from '../../../support/writers-together.ts'

const POOL = 4
const things = definePlugin({
  name: 'things',
  migrations: [
    { name: 'things/0001-thing', sql: ['CREATE TABLE thing (id integer PRIMARY KEY, body bytea, text varchar)'] },
  ],
  setup: () => undefined,
})

let server: Postgres
let kernel: Kernel
let db: Database
const start = async (
  name: string,
  url = server.url(undefined, name),
  plugin: AnyPlugin = database,
): Promise<Kernel> => {
  const one = await createKernel({
    plugins: [plugin, things],
    settings: { database: { kind: 'postgres', postgres_url: url }, cluster: { db_pool: POOL } },
    log: { level: 'silent' },
  })
  await one.start()
  return one
}

test.before(async () => {
  server = await startPostgres()
  await server.createDatabase('main')
  kernel = await start('main')
  db = kernel.get(Database)
})
test.after(async () => {
  await kernel?.stop()
  await server?.stop()
})

const sessions = (): Promise<readonly Record<string, any>[]> =>
  server.admin("SELECT pid, state, query, wait_event FROM pg_stat_activity WHERE application_name = 'refhir'")
const keyOf = (work: unknown): Promise<string> =>
  Promise.resolve(work).then(
    () => 'done',
    (error) => error.key ?? error.code ?? error.message,
  )

test('values come back as they went in', async () => {
  const put = sql('t.put', 'INSERT INTO thing (id, body, text) VALUES (?, ?, ?)')
  const get = sql('t.get', 'SELECT id, body, text FROM thing WHERE id = ?')
  const large = Buffer.alloc(700_000, 7) // comes in many chunks
  const texts = ['', "it's", '\\', 'ünï\u{1f600}', '$1', '?', 'x'.repeat(100_000), null]
  const bodies = [Buffer.alloc(0), Buffer.from([0, 255, 10]), new Uint8Array([1, 2]), large, null]
  for (const [id, text] of texts.entries()) {
    const body = bodies[id % bodies.length]!
    await db.transact((transaction) => transaction.run(put, [id, body, text]))
    const row = await db.get<{ id: number; body: Buffer; text: string }>(get, [id])
    assert.is(row!.id, id)
    assert.is(row!.text, text)
    if (body === null) assert.is(row!.body, null)
    else assert.ok(Buffer.isBuffer(row!.body) && row!.body.equals(body))
  }
  assert.is(await keyOf(db.transact((transaction) => transaction.run(put, [99, null, 'a\0b']))), '22021')
})

test('every kind of column is read, in the first answer of a statement as in the later ones', async () => {
  const statement = sql(
    't.kinds',
    `SELECT true AS yes, 1::int2 AS small, -2::int4 AS medium, 9007199254740993::int8 AS large, 1.5::float8 AS real,
            1.10::numeric AS exact, '{"a":1}'::jsonb AS json, ARRAY[1,2]::int4[] AS list, NULL::int8 AS nothing,
            'x'::char(3) AS padded, ?::text AS given, timestamptz '2024-01-01 00:00:00Z' AS moment`,
  )
  for (let round = 0; round < 2; round += 1)
    assert.equal(await db.all(statement, [5]), [
      {
        yes: true,
        small: 1,
        medium: -2,
        large: 9007199254740993n,
        real: 1.5,
        exact: '1.10',
        json: { a: 1 },
        list: [1, 2],
        nothing: null,
        padded: 'x  ',
        given: '5',
        moment: new Date('2024-01-01T00:00:00Z'),
      },
    ])
})

test('a thousand readers share a few sessions, each with its own answer, and one that fails harms no other', async () => {
  const divide = sql('t.divide', 'SELECT 1000 / ?::int AS quotient, ?::int AS own')
  const answers = await Promise.all(
    Array.from({ length: 1_000 }, async (_, own) => {
      const by = own % 10
      const outcome = await keyOf(
        Promise.resolve(db.get<{ quotient: number; own: number }>(divide, [by, own])).then((row) => {
          assert.equal(row, { quotient: Math.floor(1_000 / by), own })
        }),
      )
      return outcome
    }),
  )
  assert.equal(
    answers,
    Array.from({ length: 1_000 }, (_, own) => (own % 10 === 0 ? '22012' : 'done')),
  )
  assert.ok((await sessions()).length <= POOL)
})

test('there are never more sessions than db_pool allows, whatever uses them', async () => {
  const sleep = sql('t.sleep', 'SELECT pg_sleep(0.02)')
  const seen: number[] = []
  const work = [
    ...Array.from({ length: 10 }, () => db.longQuery(sleep, [])),
    ...Array.from({ length: 10 }, () => db.transact(async (transaction) => void (await transaction.get(sleep, [])))),
    ...Array.from({ length: 10 }, async () => (await db.orm()).em.getConnection().execute('SELECT pg_sleep(0.02)')),
    ...Array.from({ length: 50 }, async () => db.get(sleep, [])),
  ]
  const all = Promise.all(work)
  let isDone = false
  void all.then(() => {
    isDone = true
  })
  while (!isDone) seen.push((await sessions()).length)
  await all
  assert.ok(Math.max(...seen) <= POOL, `${seen}`)
})

test('a read of its own inside a transaction is answered although all transactions do it', async () => {
  const one = sql('t.one', 'SELECT 1 AS one')
  await Promise.all(
    Array.from({ length: 3 * POOL }, () =>
      db.transact(async (transaction) => {
        await transaction.get(one, [])
        assert.equal(await db.get(one, []), { one: 1 })
      }),
    ),
  )
})

test('a slow query that is cancelled ends on the server, and the next one on its session is not hit', async () => {
  const sleep = sql('t.long', 'SELECT pg_sleep(?::float8)')
  const asleep = async (): Promise<number> =>
    (await sessions()).filter(({ wait_event }) => wait_event === 'PgSleep').length
  for (let round = 0; round < 5; round += 1) {
    const { signal, abort } = (() => {
      const controller = new AbortController()
      return { signal: controller.signal, abort: () => controller.abort() }
    })()
    const answers = [
      db.longQuery(sleep, [60], signal),
      db.longQuery(sleep, [60], signal),
      db.longQuery(sleep, [60], signal),
    ].map(keyOf)
    await until(async () => (await asleep()) === POOL - 2, 5_000, 'the queries to run')
    abort()
    assert.equal(await Promise.all(answers), Array(3).fill('database/query-cancelled'))
    assert.is(await keyOf(db.longQuery(sleep, [0])), 'done')
    await until(async () => (await asleep()) === 0, 5_000, 'the queries to end')
  }
  assert.is(db.status().pool.waiting, 0)
})

test('a slow query is planned for its values each time, a small read once', async () => {
  const plans = sql('t.plans', 'SELECT name, generic_plans, custom_plans FROM pg_prepared_statements WHERE name ~ ?')
  for (const [ask, generic] of [
    [() => db.longQuery<{ generic_plans: number }>(plans, ['^t.plans']), false],
    [() => db.all<{ generic_plans: number }>(plans, ['^t.plans']), true],
  ] as const) {
    let most = 0
    // On the fifth and later runs PostgreSQL takes one plan for all values.
    for (let round = 0; round < 10; round += 1)
      for (const { generic_plans } of await ask()) most = Math.max(most, generic_plans)
    assert.is(most > 0, generic)
  }
})

test('many different statements do not fill the server with plans', async () => {
  const statements = Array.from({ length: 1_800 }, (_, n) => sql(`t.many.${n}`, `SELECT ${n} AS n`))
  const held = sql('t.held', 'SELECT count(*) AS count FROM pg_prepared_statements')
  await Promise.all(statements.map(async (one, n) => assert.equal(await db.get(one, []), { n })))
  for (let round = 0; round < 20; round += 1)
    assert.ok((await db.get<{ count: number }>(held, []))!.count <= 401, 'on whichever session')
})

test('servers that start together on an empty database migrate it once', async () => {
  await server.createDatabase('together')
  const kernels = await Promise.all(Array.from({ length: 3 }, () => start('together', undefined, writersTogether)))
  const names = await kernels[0]!
    .get(Database)
    .all<{ name: string }>(sql('t.recorded', 'SELECT name FROM migration ORDER BY id'), [])
  assert.equal(
    names.map(({ name }) => name),
    ['database/0001-pins', 'database/0002-backlog', 'database/0003-lease', 'database/0004-change', 'things/0001-thing'],
  )
  for (const one of kernels) await one.stop()
  await until(
    async () => (await server.admin("SELECT 1 FROM pg_stat_activity WHERE datname = 'together'")).length === 0,
    5_000,
    'the sessions to end',
  )
})

test('a database that cannot be used is refused at start, with the reason and without a password', async () => {
  await server.admin(
    "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0",
    'CREATE DATABASE standby',
    'ALTER DATABASE standby SET default_transaction_read_only = on',
  )
  const refusal = async (url: string): Promise<string> =>
    start('', url).then(
      () => 'it started',
      (error) => error.message,
    )
  const to = (name: string): string => server.url('postgres:hunter2', name)
  assert.match(await refusal(to('latin')), /"latin" has the encoding LATIN1/)
  assert.match(await refusal(to('standby')), /"standby" is read-only/)
  assert.match(await refusal(to('missing')), /database "missing" does not exist/)
  assert.match(await refusal('postgresql://postgres:hunter2@127.0.0.1:1/x'), /ECONNREFUSED/)
  assert.match(await refusal(`${to('main')}?sslmode=verify-full`), /sslrootcert/)
  assert.match(await refusal(`${to('main')}?sslmode=require`), /server does not support SSL/)
  for (const url of [to('latin'), to('missing'), `${to('main')}?sslmode=nope`])
    assert.not.match(await refusal(url), /hunter2/)
  const none = createKernel({
    plugins: [database],
    settings: { database: { kind: 'postgres' } },
    log: { level: 'silent' },
  })
  assert.match(await keyOf(none.catch((error) => Promise.reject(error.cause))), /postgres-url-missing/)
})

test('a database migrated by a newer build is refused and left unchanged', async () => {
  await server.createDatabase('newer')
  await (await start('newer')).stop()
  const later = definePlugin({ ...things, migrations: [] })
  const old = await createKernel({
    plugins: [database, later],
    settings: { database: { kind: 'postgres', postgres_url: server.url(undefined, 'newer') } },
    log: { level: 'silent' },
  })
  const message = await old.start().then(
    () => 'it started',
    (error) => error.message,
  )
  assert.match(message, /newer build.*things\/0001-thing/)
})

test('where the server would not wait for the disk, our sessions do', async () => {
  await server.createDatabase('async')
  await server.admin('ALTER DATABASE async SET synchronous_commit = off')
  const one = await start('async')
  const shown = await one.get(Database).get(sql('t.commit', "SELECT current_setting('synchronous_commit') AS mode"), [])
  assert.equal(shown, { mode: 'on' })
  await one.stop()
})

test('where the database has another isolation as its default, our transactions have the one they need', async () => {
  await server.createDatabase('isolated')
  await server.admin("ALTER DATABASE isolated SET default_transaction_isolation = 'serializable'")
  const one = await start('isolated')
  const shown = sql('t.isolation', "SELECT current_setting('transaction_isolation') AS level")
  const own = one.get(Database)
  assert.equal(await own.get(shown, []), { level: 'read committed' })
  assert.equal(await own.transact((transaction) => transaction.get(shown, [])), { level: 'read committed' })
  await one.stop()
})

test('bytes that are read have memory of their own, so that a cached body keeps nothing else in memory', async () => {
  await server.createDatabase('bytes')
  const one = await start('bytes')
  const found = await one.get(Database).get<{ body: Buffer }>(sql('t.bytes', "SELECT '\\x010203'::bytea AS body"), [])
  assert.equal([...found!.body], [1, 2, 3])
  assert.is(found!.body.buffer.byteLength, 3)
  await one.stop()
})

test.run()
