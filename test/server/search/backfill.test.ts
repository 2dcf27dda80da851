// database: sqlite, whose file is changed while no server has it
/** Resources that were stored before their index was are put into it at start; an interrupted backfill goes on. */
import { join } from 'node:path'
import BetterSqlite from 'better-sqlite3'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import { temporaryFolder } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { searchDefinitions } from '../../support/search-definitions.ts'
import { serverWith } from '../../support/server-with.ts'

const folder = temporaryFolder()
const path = join(folder.path, 'test.sqlite')
test.after(() => folder.remove())

const headers = { 'content-type': 'application/fhir+json' }
const start = () =>
  serverWith({
    plugins: [database, searchDefinitions(), ...fhirPlugins],
    settings: { database: { kind: 'sqlite', sqlite_path: path } },
  })
const TABLES = ['ix_res', 'ix_token', 'ix_ref', 'ix_date', 'ix_qty', 'ix_str', 'ix_comp', 'ix_text']
const rowsOf = (handle: BetterSqlite.Database): Record<string, unknown[]> =>
  Object.fromEntries(
    TABLES.map((table) => [
      table,
      handle
        .prepare(`SELECT * FROM ${table}`)
        .all()
        .map((row) => JSON.stringify(row))
        .sort(),
    ]),
  )

test('a database without index rows has them after the start, the same as if they had been written at once', async () => {
  const first = await start()
  const make = (type: string, resource: object) =>
    first.inject({
      method: 'POST',
      url: `/${type}`,
      headers,
      payload: JSON.stringify({ resourceType: type, ...resource }),
    })
  for (let at = 0; at < 130; at += 1)
    await make('Patient', { name: [{ family: `Fam${at}` }], gender: 'male', birthDate: '1970' })
  const kept = (await make('Patient', { name: [{ family: 'Deleted' }] })).json().id
  await first.inject({ method: 'DELETE', url: `/Patient/${kept}` })
  await make('Observation', {
    status: 'final',
    code: { coding: [{ system: 'http://l', code: 'c', display: 'Shown' }] },
    valueQuantity: { value: 5, code: 'mg' },
    subject: { reference: 'Patient/x' },
    effectivePeriod: { start: '2020' },
    // What no search parameter holds is in the index too: for those who ask what refers to a resource.
    extension: ['Patient/e', 'http://other.example/Patient/e'].map((reference) => ({
      url: 'http://example.org/e',
      valueReference: { reference },
    })),
  })
  await first.stop()

  const handle = new BetterSqlite(path)
  const before = rowsOf(handle)
  assert.ok((before.ix_token as unknown[]).length > 130)
  assert.is((before.ix_ref as unknown[]).length, 3)
  for (const table of TABLES) handle.exec(`DELETE FROM ${table}`)
  handle.exec('UPDATE search_column SET ready = 0, reach = 0, indexed = 0, expected = 0')
  // One type was half done when its process ended: what lies before that point is not done again.
  const [half] = handle.prepare('SELECT rid FROM resource ORDER BY rid LIMIT 1 OFFSET 99').all() as { rid: number }[]
  handle.prepare("UPDATE search_column SET reach = ? WHERE type = 'Patient'").run(half?.rid)
  handle.close()

  const second = await start()
  const found = async (url: string) => (await second.inject(url)).json().total
  assert.is(await found('/Patient?family=fam&_summary=count'), 30)
  assert.is(await found('/Observation?code:text=shown&_summary=count'), 1)
  await second.stop()

  const again = new BetterSqlite(path)
  for (const table of TABLES) again.exec(`DELETE FROM ${table}`)
  again.exec('UPDATE search_column SET ready = 0, reach = -1')
  again.close()
  const third = await start()
  assert.is((await third.inject('/Patient?family=fam&_summary=count')).json().total, 130)
  assert.is((await third.inject('/Patient?gender=male&_summary=count')).json().total, 130)
  assert.is((await third.inject('/Patient?family=deleted&_summary=count')).json().total, 0)
  await third.stop()
  const last = new BetterSqlite(path, { readonly: true })
  assert.equal(rowsOf(last), before)
  assert.equal(last.prepare('SELECT count(*) AS n FROM search_column WHERE ready = 0').get(), { n: 0 })
  last.close()
})

test('an update writes only the difference of the index rows', async () => {
  const server = await start()
  const { id } = (
    await server.inject({
      method: 'POST',
      url: '/Patient',
      headers,
      payload: JSON.stringify({ resourceType: 'Patient', name: [{ family: 'Same', given: ['One'] }], gender: 'male' }),
    })
  ).json()
  const put = (given: string) =>
    server.inject({
      method: 'PUT',
      url: `/Patient/${id}`,
      headers,
      payload: JSON.stringify({
        resourceType: 'Patient',
        id,
        name: [{ family: 'Same', given: [given] }],
        gender: 'male',
      }),
    })
  // Whoever searches finds the rows in their tables.
  assert.is((await server.inject('/Patient?given=one&_summary=count')).json().total, 1)
  const handle = new BetterSqlite(path, { readonly: true })
  const before = rowsOf(handle)
  assert.is((await put('Two')).statusCode, 200)
  const after = rowsOf(handle)
  handle.close()
  const changed = TABLES.filter((table) => JSON.stringify(before[table]) !== JSON.stringify(after[table]))
  assert.equal(changed, ['ix_str'])
  const gone = (before.ix_str as string[]).filter((row) => !(after.ix_str as string[]).includes(row))
  // `given`, `name` and `phonetic` hold it; the family stays untouched.
  assert.ok(gone.length > 0 && gone.every((row) => row.includes('"one"')))
  await server.stop()
})

test.run()
