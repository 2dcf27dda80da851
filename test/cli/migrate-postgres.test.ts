/** `server migrate` on PostgreSQL, also by a role that may only read. A killed migration leaves the old schema or the new. */
import { once } from 'node:events'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createKernel } from '../../kernel/index.ts'
import { changesOf, MIGRATION_TABLE } from '../../plugins/database/schema.ts'
import { temporaryFolder } from '../support/database-kinds.ts'
import { type Postgres, startPostgres } from '../support/postgres.ts'
import { basic } from '../support/server-with.ts'
import { spawnServer } from '../support/spawn-server.ts'
import { createWorld, type Ran } from '../support/world.ts'

const LATE_MS = 30_000
const DIE_AT_STATEMENT = new URL('../support/die-at-statement.ts', import.meta.url).href
const STEPS = changesOf(basic).length
let postgres: Postgres
test.before(async () => {
  postgres = await startPostgres()
})
test.after(() => postgres.stop())

const migrate = async (...flags: string[]): Promise<Ran> => {
  const world = createWorld({ plugins: basic, argv: ['migrate', ...flags] })
  try {
    return await world.run()
  } finally {
    world.remove()
  }
}
const startOnce = async (settings: Record<string, unknown>): Promise<void> => {
  const kernel = await createKernel({ plugins: basic, settings, log: { level: 'silent' } })
  await kernel.start()
  await kernel.stop()
}

test('an empty database is left empty, and --dry-run shows the SQL of this kind', async () => {
  await postgres.createDatabase('empty')
  const { code, stdout } = await migrate('--dry-run', '--postgres', postgres.url(undefined, 'empty'))
  assert.is(code, 0)
  assert.match(stdout, new RegExp(`would apply: ${STEPS}`))
  assert.match(stdout, /body bytea/)
  const again = await migrate('--status', '--postgres', postgres.url(undefined, 'empty'))
  assert.match(again.stdout, /recorded: 0/)
})

test('a role that may only read can ask for the status, and reads that a start would be refused', async () => {
  await postgres.createDatabase('readable')
  const url = postgres.url(undefined, 'readable')
  await startOnce({ database: { kind: 'postgres', postgres_url: url } })
  const { default: pg } = await import('pg')
  const admin = new pg.Client({ connectionString: url })
  await admin.connect()
  await admin.query(
    'CREATE ROLE reader LOGIN; GRANT pg_read_all_data TO reader; ALTER ROLE reader SET default_transaction_read_only = on',
  )
  await admin.end()
  const { code, stdout, stderr } = await migrate('--status', '--postgres', postgres.url('reader', 'readable'))
  assert.is(code, 1)
  assert.match(stderr, /"readable" is read-only \(default_transaction_read_only is on\)/)
  assert.match(stdout, new RegExp(`recorded: ${STEPS}\\n  database/0001-pins  \\d{4}-`))
})

/** The status and the start refuse with 1 and the same reason. */
const refusedBoth = async (url: string, reason: RegExp): Promise<void> => {
  for (const argv of [
    ['migrate', '--status'],
    ['migrate', '--dry-run'],
    ['--bind', '127.0.0.1:0'],
  ]) {
    const world = createWorld({ plugins: basic, argv: [...argv, '--postgres', url] })
    const { code, stderr } = await world.run().finally(world.remove)
    assert.is(code, 1, `${argv[0]}: ${stderr}`)
    assert.match(stderr, reason)
    assert.not.match(stderr, /SERVER_LOG_LEVEL/)
  }
}

test('a database of another encoding is refused by the status as by the start', async () => {
  await postgres.admin("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
  await refusedBoth(postgres.url(undefined, 'latin'), /"latin" has the encoding LATIN1; this server needs UTF8/)
})

test('a search_path without a schema that exists is refused by the status as by the start', async () => {
  await postgres.createDatabase('noschema')
  const url = `${postgres.url(undefined, 'noschema')}?options=${encodeURIComponent('-c search_path=nowhere')}`
  await refusedBoth(url, /In the PostgreSQL database "noschema" search_path \(nowhere\) names no schema that exists/)
})

test('a database that is read-only is refused by the status as by the start', async () => {
  await postgres.createDatabase('rodb')
  await postgres.admin('ALTER DATABASE rodb SET default_transaction_read_only = on')
  await refusedBoth(postgres.url(undefined, 'rodb'), /"rodb" is read-only \(default_transaction_read_only is on\)/)
})

test('a role without rights on the schema is refused by both, with the GRANT that mends it', async () => {
  await postgres.createDatabase('norights')
  await postgres.admin('CREATE ROLE "plain user" LOGIN')
  const url = postgres.url('plain%20user', 'norights')
  const { default: pg } = await import('pg')
  const owner = new pg.Client({ connectionString: postgres.url(undefined, 'norights') })
  await owner.connect()
  const reason =
    /The role "plain user" may not create tables in the schema public of the PostgreSQL database "norights"\..*: (GRANT USAGE, CREATE ON SCHEMA public TO "plain user");/
  try {
    await refusedBoth(url, reason)
    await owner.query('REVOKE USAGE ON SCHEMA public FROM PUBLIC')
    await refusedBoth(url, reason)
    await owner.query('GRANT USAGE, CREATE ON SCHEMA public TO "plain user"')
  } finally {
    await owner.end()
  }
  assert.is((await migrate('--status', '--postgres', url)).code, 0)
  await startOnce({ database: { kind: 'postgres', postgres_url: url } })
})

test('a database that cannot be reached is exit code 2, without the password', async () => {
  const { code, stderr } = await migrate('--status', '--postgres', 'postgresql://u:hunter2@127.0.0.1:9/none')
  assert.is(code, 2)
  assert.match(stderr, /cannot be read/)
  assert.not.match(stderr, /hunter2/)
})

/** Moments of a first start: in place of which statement the server is killed, the n-th that begins so. */
const RECORD = `insert into ${MIGRATION_TABLE}`
const MOMENTS: readonly string[] = [
  `1 ${RECORD}`,
  `${Math.ceil(STEPS / 2)} ${RECORD}`,
  `${STEPS} ${RECORD}`,
  '1 commit',
]

const dieAt = async (moment: string, settings: Record<string, unknown>): Promise<void> => {
  const node = { args: ['--import', DIE_AT_STATEMENT], environment: { ...process.env, DIE_AT: moment } }
  const { child } = await spawnServer(settings, { isEarly: true, node })
  const late = setTimeout(() => child.kill('SIGTERM'), LATE_MS)
  if (child.signalCode === null) await once(child, 'exit')
  clearTimeout(late)
  assert.is(child.signalCode, 'SIGKILL', moment)
}

for (const kind of ['sqlite', 'postgres'] as const)
  test(`killed at ${MOMENTS.length} moments of its first start, ${kind} has the old schema or the new, and starts`, async () => {
    const folder = temporaryFolder()
    const path = `${folder.path}/killed.sqlite`
    if (kind === 'postgres') await postgres.createDatabase('killed')
    const url = postgres.url(undefined, 'killed')
    const database = kind === 'sqlite' ? { kind, sqlite_path: path } : { kind, postgres_url: url }
    const flags = kind === 'sqlite' ? ['--sqlite', path] : ['--postgres', url]
    // Each start finds what the one before has left, and the last one what all have left.
    for (const moment of MOMENTS) {
      await dieAt(moment, { database })
      const { code, stdout } = await migrate('--status', ...flags)
      assert.is(code, 0)
      const recorded = Number(/recorded: (\d+)/.exec(stdout)?.[1])
      assert.ok(recorded === 0 || recorded === STEPS, `${recorded} of ${STEPS}`)
    }
    await startOnce({ database })
    const { stdout } = await migrate('--status', ...flags)
    assert.match(stdout, `recorded: ${STEPS}\n`)
    folder.remove()
  })

test.run()
