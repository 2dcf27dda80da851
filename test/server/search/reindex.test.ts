/** `server reindex` makes the search index again what the resources say; interrupted, it goes on where it was. */
// npm test: sqlite and postgres, each with cases of its own
// memory: the command has nothing to do there
// waits: on PostgreSQL for servers that notice a new index
import { existsSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import { Database, sql } from '../../../plugins/database/service.ts'
import jobs from '../../../plugins/jobs/index.ts'
import reindexPlugin from '../../../plugins/reindex/index.ts'
import { chosenKind, type FreshDatabase } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { postTransaction } from '../../support/post-bundle.ts'
import { searchDefinitions } from '../../support/search-definitions.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { createWorld, type Ran } from '../../support/world.ts'

const plugins = [database, searchDefinitions(), ...fhirPlugins, jobs, reindexPlugin]
const TABLES = ['ix_res', 'ix_token', 'ix_ref', 'ix_date', 'ix_qty', 'ix_str', 'ix_comp']
const PATIENTS = 230

let place: FreshDatabase
test.before.each(async () => {
  place = await chosenKind.fresh(plugins)
})
test.after.each(() => place.remove())

const serve = async <T>(work: (server: TestServer) => Promise<T>): Promise<T> => {
  const server = await serverWith({ plugins, settings: place.settings })
  try {
    return await work(server)
  } finally {
    await server.stop()
  }
}
const flagsOf = (): string[] => {
  const { kind, sqlite_path, postgres_url } = place.settings.database as Record<string, string>
  if (kind === 'postgres') return ['--postgres', postgres_url as string]
  return kind === 'sqlite' ? ['--sqlite', sqlite_path as string] : ['--memory']
}
const reindex = async (flags: readonly string[] = [], failAt?: RegExp, terminal = false): Promise<Ran> => {
  const world = createWorld({
    plugins,
    argv: ['reindex', ...flagsOf(), ...flags],
    terminal,
    onWrite: (_world, text) => {
      if (failAt?.test(text) === true) throw new Error('the terminal is gone')
    },
  })
  try {
    return await world.run()
  } finally {
    world.remove()
  }
}

type Rows = Record<string, string[]>
const rowsOf = async (server: TestServer): Promise<Rows> => {
  const found: Rows = {}
  for (const table of TABLES)
    found[table] = (await server.get(Database).all(sql(`test.${table}`, `SELECT * FROM ${table}`), []))
      .map((row) => JSON.stringify(Object.entries(row as object).sort()))
      .sort()
  return found
}
/** All index rows, without a server that goes on. */
const rows = (): Promise<Rows> => serve(rowsOf)
const change = async (server: TestServer, by: readonly string[]): Promise<{ before: Rows; after: Rows }> => {
  const before = await rowsOf(server)
  await server.get(Database).transact(async (transaction) => {
    for (const [at, text] of by.entries()) await transaction.run(sql(`test.${at}.${text.length}`, text), [])
  })
  return { before, after: await rowsOf(server) }
}
/** Changes the index by SQL: its rows before and after. */
const damage = (by: readonly string[]): Promise<{ before: Rows; after: Rows }> => serve((server) => change(server, by))
const fill = async (server: TestServer): Promise<void> => {
  const entry = Array.from({ length: PATIENTS }, (_, at) => ({
    resource: {
      resourceType: 'Patient',
      name: [{ family: `Fam${at}`, given: ['Al'] }],
      gender: 'male',
      birthDate: '1970-01-01',
      managingOrganization: { reference: 'Organization/o' },
    },
    request: { method: 'POST', url: 'Patient' },
  }))
  await postTransaction(server, entry)
}
/** Does both with one server, because starting another one takes longer. */
const fillAndDamage = (by: readonly string[]): Promise<{ before: Rows; after: Rows }> =>
  serve(async (server) => {
    await fill(server)
    return change(server, by)
  })

if (chosenKind.name === 'memory')
  test('a database in memory has nothing to reindex: exit code 2', async () => {
    const { code, stderr } = await reindex()
    assert.is(code, 2)
    assert.match(stderr, /in memory/)
  })
else {
  test('a damaged index is whole again, and so is the mask of what has a value', async () => {
    const { before, after: damaged } = await fillAndDamage([
      "DELETE FROM ix_str WHERE val LIKE 'fam1%'",
      'UPDATE ix_token SET val = val + 1',
      'DELETE FROM ix_date',
      'UPDATE ix_res SET m0 = 5, m1 = 0',
      'INSERT INTO ix_res (type, rid, ref, m0, m1, m2) SELECT type, 999999, 1, 1, 1, 1 FROM ix_res LIMIT 1',
    ])
    assert.not.equal(damaged, before)
    const { code, stdout, stderr } = await reindex()
    assert.is(code, 0, stderr)
    assert.match(stdout, /100 % \(230 of 230 resources, \d+\/s\)/)
    assert.match(stdout, /reindexed 230 resources\n$/)
    assert.equal(await rows(), before)
  })

  test('only one parameter is made anew when it is named; on a terminal one line is written over', async () => {
    const { before, after: broken } = await fillAndDamage(['DELETE FROM ix_str', 'DELETE FROM ix_date'])
    const { code, stdout } = await reindex(['--type', 'Patient', '--param', 'birthdate'], undefined, true)
    assert.is(code, 0)
    assert.ok(stdout.includes('\r\u001B[K100 % (230 of 230'), stdout)
    const after = await rows()
    assert.equal(after.ix_date, before.ix_date)
    assert.equal(after.ix_str, broken.ix_str)
    assert.equal(after.ix_res, before.ix_res)
  })

  test('what is not known is exit code 2', async () => {
    await serve(async () => undefined)
    for (const flags of [
      ['--type', 'Pasient'],
      ['--param', 'nothing'],
      ['--type', 'Patient', '--param', 'status'],
      ['--nonsense'],
    ]) {
      const { code, stderr } = await reindex(flags)
      assert.is(code, 2, flags.join(' '))
      assert.match(stderr, /not known|no flag/)
    }
  })

  test('interrupted, it is refused rather than wrong, and the next run goes on', async () => {
    const { before } = await fillAndDamage(['DELETE FROM ix_str', 'DELETE FROM ix_date', 'DELETE FROM ix_token'])
    // The step after the first batch: some rows are there, most are not.
    const first = await reindex([], /\d+ % \((?!0)\d+ of 230/)
    assert.is(first.code, 1)
    assert.match(first.stderr, /run it again to go on: the terminal is gone/)
    const second = await reindex()
    assert.is(second.code, 0, second.stderr)
    assert.match(second.stdout, /going on where/)
    // And the start of a server goes on, too.
    assert.equal((await damage(['DELETE FROM ix_str'])).before, before)
    assert.is((await reindex([], /\d+ % \((?!0)\d+ of 230/)).code, 1)
    await serve(async (server) => {
      const answer = await server.inject('/Patient?family=fam1&_summary=count')
      assert.is(answer.json().total, 111)
      assert.equal(await rowsOf(server), before)
    })
  })

  test('while a server has the database', async () => {
    await serve(async (server) => {
      await fill(server)
      const { code, stdout, stderr } = await reindex(['--param', 'family'])
      if (chosenKind.name === 'sqlite') {
        assert.is(code, 1)
        assert.match(stderr, /another process has .* open/)
        return
      }
      assert.is(code, 0, stderr)
      assert.match(stdout, /waiting for a server to do it/)
      assert.match(stdout, /a server works on it: waiting 10 s until servers notice/)
      assert.match(stdout, /reindexed 230 resources\n$/)
      const answer = await server.inject('/Patient?family=fam1&_summary=count')
      assert.is(answer.json().total, 111, answer.body)
    })
  })
}

test('a database that is not there is said so, and not created', async () => {
  await place.remove()
  place = await chosenKind.fresh()
  for (const flags of [[], ['--type', 'Patient'], ['--param', 'name']]) {
    const { code, stderr } = await reindex(flags)
    assert.is(code, 2, stderr)
    if (chosenKind.name === 'memory') continue
    assert.match(stderr, 'There is no database to read')
    assert.not.match(stderr, 'undefined')
  }
  const { sqlite_path } = place.settings.database as Record<string, string>
  if (sqlite_path !== undefined) assert.not.ok(existsSync(sqlite_path))
  if (chosenKind.name !== 'postgres') return
  // Nothing of ours was made there: a later look finds as little.
  assert.match((await reindex()).stderr, 'There is no database to read')
})

test.run()
