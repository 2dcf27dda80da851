/** A cluster whose database is slow, takes no watermark or is restored, and whose migrations are killed. F13, F19 to F21. KILLS=100 kills more often. */
// database: postgres, the one kind that several processes share
// waits: for a database that is slow or restarts
import pg from 'pg'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Postgres, startPostgres } from '../../support/postgres.ts'
import { reasonOf, SECRETS, send, whenSays } from '../../support/replica-servers.ts'
import { type ServerHere, serveHere } from '../../support/serve-here.ts'
import { spawnServer } from '../../support/spawn-server.ts'
import { until } from '../../support/until.ts'
import { outcomeOf, put, WAITING, whenFailed } from '../../support/writer-pair.ts'

const KILLS = Number(process.env.KILLS ?? 4)
const BEATS = 10 // longer than a lease that nobody confirms

let postgres: Postgres
let databases = 0
let name = ''
/** Functions that end what a test has started, called after it in reverse order. */
const ends: (() => unknown)[] = []
test.before(async () => {
  postgres = await startPostgres()
})
test.after(() => postgres.stop())
const open = async (): Promise<void> => {
  databases += 1
  name = `faults${databases}`
  await postgres.createDatabase(name)
}
test.after.each(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const settings = () => ({ database: { kind: 'postgres', postgres_url: postgres.url(undefined, name) } })
type HereOptions = Parameters<typeof serveHere>[1]
const serve = async (options: HereOptions = {}): Promise<ServerHere> => {
  const server = await serveHere(settings(), options)
  ends.push(() => server.stop())
  return server
}
const look = async (): Promise<pg.Client> => {
  const client = new pg.Client(postgres.url(undefined, name))
  client.on('error', () => undefined) // a test ends its connection
  await client.connect()
  ends.push(() => client.end().catch(() => undefined))
  return client
}

test('while no commit gets onto the disk the holder keeps the lease, and what waited is stored', async () => {
  await open()
  const [first, second] = [await serve(), await serve({ isEarly: true })]
  await whenSays(second, WAITING)
  const onlooker = await look()
  const leaseOf = async () => (await onlooker.query('SELECT epoch, beat::int FROM cluster_lease')).rows[0]
  assert.is(await put(first, 'before'), 201)
  const { epoch, beat } = await leaseOf()
  // COMMIT waits for a standby of PostgreSQL that is not there, as it waits for a disk; beats do not wait for the disk.
  const wait = (names: string) =>
    postgres.admin(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`, 'SELECT pg_reload_conf()')
  await wait('nobody')
  const late = put(first, 'late')
  await until(async () => (await leaseOf()).beat >= beat + BEATS, 2 * BEATS * 1_000, 'beats')
  assert.is((await leaseOf()).epoch, epoch)
  assert.is(await reasonOf(second), WAITING)
  await wait('')
  const status = await late
  assert.ok([201, 503].includes(status), String(status))
  assert.is(await put(first, 'after'), 201)
  assert.is((await leaseOf()).epoch, epoch)
  if (status === 201) assert.is((await send(first, 'GET', '/Patient/late')).status, 200)
})

test('while the watermark cannot be written changes are 503 and reads go on; where beats are not confirmed either, all is 503', async () => {
  await open()
  const [first, second] = [await serve(), await serve({ isEarly: true })]
  await whenSays(second, WAITING)
  assert.is(await put(first, 'a'), 201)
  const onlooker = await look()
  await onlooker.query('BEGIN; SELECT FROM cluster_mark FOR UPDATE')
  const refused = put(first, 'b')
  assert.is((await send(first, 'GET', '/Patient/a')).status, 200)
  assert.is(await refused, 503)
  assert.is(await reasonOf(second), WAITING)
  await onlooker.query('ROLLBACK')
  await until(async () => (await put(first, 'c')) === 201, 10_000, 'a change')
  // A lock would be taken away from its holder.
  await onlooker.query(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$;
    CREATE TRIGGER refuse BEFORE UPDATE ON cluster_lease FOR EACH ROW EXECUTE FUNCTION refuse()`)
  await whenSays(first, 'the watermark cannot be recorded')
  assert.is(await put(first, 'd'), 503)
  assert.is((await send(first, 'GET', '/Patient/a')).status, 503)
  assert.is((await fetch(`${first.base}/livez`)).status, 200)
  await onlooker.query('DROP TRIGGER refuse ON cluster_lease')
  const both = [first, second]
  await until(
    async () => (await Promise.all(both.map((one) => reasonOf(one).catch(() => 'away')))).includes('ok'),
    20_000,
    'one to be ready',
  )
})

/** Puts a copy of an earlier state in the place of the database, under its name, as a restored backup. */
const restore = async (backup: string): Promise<void> => {
  await postgres.admin(
    `ALTER DATABASE "${name}" ALLOW_CONNECTIONS false`,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`,
    `ALTER DATABASE "${name}" RENAME TO "${name}_lost"`,
    `ALTER DATABASE "${backup}" RENAME TO "${name}"`,
  )
}

test('a backup that is restored under a running holder ends it with 75; the next one begins a new term, and old tokens are 409', async () => {
  await open()
  const begin = () => serve({ plugins: ['smart', 'cluster'], settings: { smart: SECRETS } })
  const early = await begin()
  assert.is(await put(early, 'kept'), 201)
  await early.stop()
  const backup = `${name}_backup`
  await postgres.createDatabase(backup, name)
  // The database goes through some epochs.
  for (let round = 0; round < 2; round += 1) {
    const server = await begin()
    assert.is(await put(server, `lost${round}`), 201)
    await server.stop()
  }
  const running = await begin()
  let hasFailed = false
  void running.failed.then(() => {
    hasFailed = true
  })
  const lost = await send(running, 'PUT', '/Patient/lost', { resourceType: 'Patient', id: 'lost' })
  assert.is(lost.status, 201)
  await restore(backup)
  await until(
    async () => {
      const status = await outcomeOf(put(running, 'late'))
      assert.ok(status === 503 || status === 0, String(status))
      return hasFailed
    },
    30_000,
    'the holder to end',
  )
  await whenFailed(running)
  await running.stop()
  const next = await begin()
  assert.is((await send(next, 'GET', '/Patient/kept')).status, 200)
  for (const id of ['lost', 'lost0', 'late']) assert.is((await send(next, 'GET', `/Patient/${id}`)).status, 404, id)
  const read = await send(next, 'GET', '/Patient/kept', undefined, { 'x-snapshot': lost.snapshot })
  assert.is(read.status, 409, read.text)
  assert.is(await put(next, 'new'), 201)
})

test('a backup that is restored under a replica ends it with 75, and so does a history with the same numbers', async () => {
  await open()
  const begin = (cluster: Readonly<Record<string, unknown>> = {}) =>
    serve({ plugins: ['smart', 'cluster'], settings: { smart: SECRETS, cluster } })
  const early = await begin()
  assert.is(await put(early, 'kept'), 201)
  await early.stop()
  const backup = `${name}_backup`
  await postgres.createDatabase(backup, name)
  const primary = await begin()
  const replica = await begin({ role: 'replica', primary_url: primary.base })
  assert.is(await put(primary, 'lost'), 201)
  assert.is((await send(replica, 'GET', '/Patient/lost')).status, 200)
  await restore(backup)
  await whenFailed(replica)
  await whenFailed(primary)
  for (const one of [replica, primary]) await one.stop()
  const next = await begin()
  const other = await begin({ role: 'replica', primary_url: next.base })
  assert.is((await send(other, 'GET', '/Patient/lost')).status, 404)
  await next.stop()
  assert.is((await send(other, 'GET', '/Patient/kept')).status, 200)
  // As if it had been restored, and another server had begun an epoch of that number.
  const onlooker = await look()
  await onlooker.query("UPDATE cluster_epoch SET term = 'another' WHERE epoch = (SELECT epoch FROM cluster_mark)")
  await whenFailed(other)
})

test(`a first start that is killed ${KILLS} times leaves all tables or none, and the next one starts`, async () => {
  await open()
  const seen = new Set<string>()
  const onlooker = await look()
  const countTables = "SELECT count(*)::int AS n FROM pg_tables WHERE schemaname = 'public'"
  const began = performance.now()
  const whole = await spawnServer(settings())
  ends.push(() => whole.kill())
  const startMs = performance.now() - began
  const all = (await onlooker.query(countTables)).rows[0].n as number
  const applied = (await onlooker.query('SELECT count(*)::int AS n FROM migration')).rows[0].n as number
  await whole.kill()
  for (let kill = 0; kill < KILLS; kill += 1) {
    await open()
    const own = await look()
    const server = await spawnServer(settings(), { isEarly: true })
    ends.push(() => server.kill())
    // The server listens before it migrates; it dies at any point of what follows.
    await new Promise((resolve) => setTimeout(resolve, (startMs * kill) / KILLS / 2))
    await server.kill()
    const isIdle = async (): Promise<boolean> => {
      const others = `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = '${name}' AND pid <> pg_backend_pid()`
      return (await own.query(others)).rows[0].n === 0
    }
    await until(isIdle, 10_000, 'the sessions of the killed server to end')
    const tables = (await own.query(countTables)).rows[0].n as number
    const recorded =
      tables === 0 ? 0 : ((await own.query('SELECT count(*)::int AS n FROM migration')).rows[0].n as number)
    assert.ok((tables === 0 && recorded === 0) || recorded === applied || recorded === 0, `${recorded} of ${applied}`)
    if (recorded === applied) assert.is(tables, all)
    seen.add(recorded === 0 ? 'nothing' : 'all')
    const next = await serve()
    assert.is(await put(next, 'a'), 201)
    await next.stop()
  }
  assert.ok(seen.size > 0)
})

test.run()
