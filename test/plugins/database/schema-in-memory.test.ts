/** A database in memory, which is not created through MikroORM, has the schema and the records of a file that is. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { Database, sql } from '../../../plugins/database/service.ts'
import { temporaryFolder } from '../../support/database-kinds.ts'
import { basic, serverWith } from '../../support/server-with.ts'

const readSchema = sql(
  'test.schema',
  "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY type, name",
)
const readMigrations = sql('test.migrations', 'SELECT id, name FROM migration ORDER BY id')
const readTimes = sql('test.times', 'SELECT DISTINCT executed_at FROM migration')
const readPins = sql('test.pins', 'SELECT name, value FROM database_pin ORDER BY name')

/** What a first start leaves in a database of this kind. */
const created = async (database: Readonly<Record<string, unknown>>) => {
  const server = await serverWith({ plugins: basic, settings: { database } })
  try {
    const opened = server.get(Database)
    const schema = await opened.all<{ name: string; sql: string | null }>(readSchema, [])
    return {
      schema: schema.filter(({ name }) => name !== 'migration'),
      columns: await opened.all(sql('test.columns', "SELECT name, type, pk FROM pragma_table_info('migration')"), []),
      migrations: await opened.all(readMigrations, []),
      times: await opened.all<{ executed_at: string }>(readTimes, []),
      pins: await opened.all(readPins, []),
    }
  } finally {
    await server.stop()
  }
}

test('tables, indexes, recorded migrations and pins are those of a file', async () => {
  const folder = temporaryFolder()
  const { times: ofFile, ...file } = await created({ kind: 'sqlite', sqlite_path: `${folder.path}/a.sqlite` })
  const { times: ofMemory, ...memory } = await created({ kind: 'memory' })
  folder.remove()
  assert.equal(memory, file)
  assert.ok(file.schema.length > 10 && file.migrations.length > 3 && file.pins.length > 1)
  for (const { executed_at } of [...ofFile, ...ofMemory]) assert.match(executed_at, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/)
})

test.run()
