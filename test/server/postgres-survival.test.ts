/** A server survives its PostgreSQL: frozen, full, out of connections. It says so, fails cleanly and recovers alone. */
// database: postgres, because it is what fails
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createKernel, type Kernel } from '../../kernel/index.ts'
import { type Postgres, startPostgres } from '../support/postgres.ts'
import { basic } from '../support/server-with.ts'
import { until } from '../support/until.ts'

const MAX_CONNECTIONS = 12 // of which PostgreSQL keeps three for the superuser
let postgres: Postgres
let databases = 0
test.before(async () => {
  postgres = await startPostgres({ settings: { max_connections: String(MAX_CONNECTIONS) } })
})
test.after(() => postgres.stop())

const serve = async (user?: string): Promise<{ kernel: Kernel; name: string }> => {
  databases += 1
  const name = `survival${databases}`
  await postgres.createDatabase(name)
  const kernel = await createKernel({
    plugins: basic,
    settings: { database: { kind: 'postgres', postgres_url: postgres.url(user, name) }, cluster: { db_pool: 4 } },
    log: { level: 'silent' },
  })
  await kernel.start()
  return { kernel, name }
}
const create = (kernel: Kernel) =>
  kernel.inject({
    method: 'POST',
    url: '/Patient',
    headers: { 'content-type': 'application/fhir+json' },
    payload: '{"resourceType":"Patient"}',
  })
const ready = async (kernel: Kernel): Promise<number> => (await kernel.inject('/readyz')).statusCode
const untilReady = (kernel: Kernel): Promise<void> =>
  until(async () => (await ready(kernel)) === 200, 60_000, 'the server to be ready')

test('while PostgreSQL is frozen /readyz is 503 within three seconds and /livez 200; thawed, it serves again', async () => {
  const { kernel } = await serve()
  const { id } = (await create(kernel)).json() as { id: string }
  postgres.freeze()
  const started = performance.now()
  let status = 200
  while (status === 200 && performance.now() - started < 10_000) status = await ready(kernel)
  const took = performance.now() - started
  const waiting = Array.from({ length: 50 }, (_, n) =>
    n % 2 === 0 ? kernel.inject(`/Patient/${id}/_history`) : create(kernel),
  )
  assert.is((await kernel.inject('/livez')).statusCode, 200)
  postgres.thaw()
  const statuses = new Set((await Promise.all(waiting)).map(({ statusCode }) => statusCode))
  assert.is(status, 503)
  assert.ok(took < 3_500, `${took} ms`)
  for (const one of statuses) assert.ok([200, 201, 503].includes(one), `status ${one}`)
  await untilReady(kernel)
  assert.is((await create(kernel)).statusCode, 201)
  await kernel.stop()
})

test('a full disk is 507 with the code no-store, reads go on, and writes again when there is room', async () => {
  const { kernel, name } = await serve()
  const { id } = (await create(kernel)).json() as { id: string }
  const { default: pg } = await import('pg')
  const admin = new pg.Client({ connectionString: postgres.url(undefined, name) })
  await admin.connect()
  await admin.query(
    "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$",
  )
  await admin.query('CREATE TRIGGER full_disk BEFORE INSERT ON resource FOR EACH ROW EXECUTE FUNCTION full_disk()')
  const refused = await create(kernel)
  assert.is(refused.statusCode, 507)
  assert.is(refused.json().issue[0].code, 'no-store')
  assert.not.match(refused.body, /extend file/)
  assert.is((await kernel.inject(`/Patient/${id}`)).statusCode, 200)
  await admin.query('DROP TRIGGER full_disk ON resource')
  assert.is((await create(kernel)).statusCode, 201)
  await admin.end()
  await kernel.stop()
})

test('when others hold all connections, requests are 503 and the server recovers when they let go', async () => {
  await postgres.admin('CREATE ROLE plain LOGIN')
  const { kernel, name } = await serve()
  await postgres.admin(`GRANT ALL ON DATABASE ${name} TO plain`)
  // The server's own connections are cut, so that it has to ask for new ones.
  const { default: pg } = await import('pg')
  await postgres.admin(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`)
  const holders: InstanceType<typeof pg.Client>[] = []
  for (let n = 0; n < MAX_CONNECTIONS; n += 1) {
    const client = new pg.Client({ connectionString: postgres.url(undefined, 'postgres') })
    client.on('error', () => undefined)
    try {
      await client.connect()
      holders.push(client)
    } catch {
      break
    }
  }
  const refused = await create(kernel)
  assert.is(refused.statusCode, 503)
  assert.is(refused.json().issue[0].code, 'transient')
  assert.is((await kernel.inject('/livez')).statusCode, 200)
  await Promise.all(holders.map((client) => client.end()))
  await untilReady(kernel)
  assert.is((await create(kernel)).statusCode, 201)
  await kernel.stop()
})

test('while PostgreSQL is read-only writes and /readyz are 503; afterwards every session writes at once', async () => {
  const { kernel, name } = await serve()
  assert.is((await create(kernel)).statusCode, 201)
  await postgres.admin(`ALTER DATABASE ${name} SET default_transaction_read_only = on`)
  await postgres.admin(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`)
  const deadline = performance.now() + 10_000
  while ((await ready(kernel)) === 200) assert.ok(performance.now() < deadline, '/readyz stayed 200')
  const refused = await create(kernel)
  assert.is(refused.statusCode, 503)
  assert.is(refused.json().issue[0].code, 'transient')
  // Reads go on, and open sessions that are read-only.
  const reads = await Promise.all(Array.from({ length: 20 }, () => kernel.inject('/Patient/_history')))
  assert.equal([...new Set(reads.map(({ statusCode }) => statusCode))], [200])
  assert.is((await kernel.inject('/livez')).statusCode, 200)
  await postgres.admin(`ALTER DATABASE ${name} RESET default_transaction_read_only`)
  // The writer lease has to be confirmed again, after which no session is left that refuses writes.
  await untilReady(kernel)
  const created = await Promise.all(Array.from({ length: 40 }, () => create(kernel)))
  assert.equal([...new Set(created.map(({ statusCode }) => statusCode))], [201])
  await kernel.stop()
})

test.run()
