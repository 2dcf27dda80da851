/** The statements of the package tables on a real PostgreSQL, sent as they are. */
import pg from 'pg'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Database, Sql, SqlParam, Transaction } from '../../../plugins/database/service.ts'
import { createTables, PACKAGE_TABLES } from '../../../plugins/packages/tables.ts'
import { type Postgres, startPostgres } from '../../support/postgres.ts'

let server: Postgres
let client: pg.Client

test.before(async () => {
  server = await startPostgres()
  client = new pg.Client({ connectionString: server.url() })
  await client.connect()
  for (const statement of PACKAGE_TABLES.sql.postgres) await client.query(statement)
})
test.after(async () => {
  await client.end()
  await server.stop()
})

const rowsOf = async <R>({ name, postgres }: Sql, params: readonly SqlParam[]): Promise<R[]> =>
  (await client.query({ name, text: postgres, values: [...params] })).rows as R[]

const transaction: Transaction = {
  beforeCommit() {
    throw new Error('the tables leave nothing')
  },
  insertDeferred() {
    throw new Error('the tables have nothing for later')
  },
  all: rowsOf,
  longQuery: rowsOf,
  get: async <R>(statement: Sql, params: readonly SqlParam[]) => (await rowsOf<R>(statement, params))[0],
  run: async (statement, params) => void (await rowsOf(statement, params)),
  hold: () => undefined,
  queue: () => undefined,
  afterCommit: () => undefined,
  afterEnd: () => undefined,
  publish: () => undefined,
  assertOptimistically: () => false,
}
/** What the tables ask of a database, on one connection. */
const onOneConnection: Pick<Database, 'all' | 'transact'> = {
  all: rowsOf,
  async transact(work) {
    await client.query('BEGIN')
    try {
      const value = await work(transaction)
      await client.query('COMMIT')
      return value
    } catch (error) {
      await client.query('ROLLBACK')
      throw error
    }
  },
}
const tables = createTables(onOneConnection as Database)

const row = {
  name: 'test.one',
  version: '1.0.0',
  source: '/srv/one',
  sha: '1',
  stamp: '10 20.5',
  standsFor: 'hl7.fhir.r4.core@4.0.1',
  missing: ['test.gone@1.0.0'],
  installedAt: 1_700_000_000_123,
}
const definition = (id: string, byte: number) => ({
  type: 'ValueSet',
  id,
  url: id === 'none' ? undefined : `http://example.org/${id}`,
  version: '1',
  body: new Uint8Array([0, byte, 255]),
})

test('packages and definitions come back as they went in', async () => {
  const definitions = [definition('b', 1), definition('a', 2), definition('none', 3)]
  await tables.install(row, definitions)
  assert.equal(await tables.packages(), [{ ...row, seq: 1, definitions: 3 }])
  const all = await tables.all('ValueSet')
  assert.equal(
    all.map(({ seq, id, url, version, body }) => [seq, id, url, version, [...body]]),
    [
      [1, 'a', 'http://example.org/a', '1', [0, 2, 255]],
      [1, 'b', 'http://example.org/b', '1', [0, 1, 255]],
      [1, 'none', undefined, '1', [0, 3, 255]],
    ],
  )
  assert.equal(
    (await tables.find('ValueSet', 'http://example.org/b')).map(({ id }) => id),
    ['b'],
  )
  assert.equal(await tables.find('CodeSystem', 'http://example.org/b'), [])
})

test('a package takes the place of its version and of its path, and fails whole', async () => {
  await tables.install({ ...row, name: 'test.two', stamp: undefined, standsFor: undefined, source: 'x' }, [])
  await tables.install({ ...row, version: '2.0.0' }, [definition('c', 4)])
  const labels = async () => (await tables.packages()).map(({ seq, name, version }) => `${seq} ${name}@${version}`)
  assert.equal(await labels(), ['1 test.one@2.0.0', '2 test.two@1.0.0'])
  assert.equal(
    (await tables.all('ValueSet')).map(({ id }) => id),
    ['c'],
  )
  try {
    await tables.install({ ...row, version: '3.0.0' }, [definition('d', 5), definition('d', 6)])
    assert.unreachable()
  } catch (error) {
    assert.is((error as { code?: string }).code, '23505') // unique_violation
  }
  assert.equal(await labels(), ['1 test.one@2.0.0', '2 test.two@1.0.0'])
})

test.run()
