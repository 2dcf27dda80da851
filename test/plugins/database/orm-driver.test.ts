/** Our SQLite driver for MikroORM behaves as the package of MikroORM does, which is used here only. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BetterSqliteDriver } from '@mikro-orm/better-sqlite'
import { EntitySchema, MikroORM } from '@mikro-orm/core'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { SqliteDriver } from '../../../plugins/database/sqlite/orm-driver.ts'

interface Line {
  readonly id: number
  readonly text: string
  readonly size: number | null
}
const LineSchema = new EntitySchema<Line>({
  name: 'Line',
  tableName: 'line',
  properties: {
    id: { type: 'integer', primary: true },
    text: { type: 'text', unique: true },
    size: { type: 'double', nullable: true },
  },
})

/** What a driver does with rows, texts that SQL could take for its own, and statements that fail. */
const behaviour = async (driver: typeof SqliteDriver | typeof BetterSqliteDriver): Promise<readonly unknown[]> => {
  const folder = mkdtempSync(join(tmpdir(), 'driver-'))
  const orm = await MikroORM.init<SqliteDriver>({
    ...{ driver: driver as typeof SqliteDriver, dbName: join(folder, 'lines.sqlite'), entities: [LineSchema] },
    discovery: { disableDynamicFileAccess: true },
  })
  const seen: unknown[] = []
  try {
    const connection = orm.em.getConnection()
    await connection.execute(
      "CREATE TABLE line (id integer PRIMARY KEY, text text UNIQUE CHECK (text <> ''), size double)",
    )
    const em = orm.em.fork()
    for (const [at, text] of [`it's`, String.raw`\'; DROP TABLE line; --`, 'ä\n\u2028', '?'].entries())
      await em.insert(LineSchema, { id: at, text, size: at / 3 })
    seen.push(await connection.execute('SELECT * FROM line ORDER BY id'))
    seen.push(await em.find(LineSchema, { text: { $like: '%DROP%' } }))
    const platform = em.getPlatform()
    for (const value of [`it's`, 1.5, true, null, new Date(0), Buffer.from('00ff', 'hex')])
      seen.push(platform.quoteValue(value))
    for (const statement of [
      "INSERT INTO line VALUES (0, 'again', 1)",
      "INSERT INTO line VALUES (9, '', 1)",
      'SELECT nothing FROM line',
      'SELECT * FROM nowhere',
      'SELEC',
      'CREATE TABLE line (id integer)',
    ])
      seen.push(
        await orm.em
          .getDriver()
          .execute(statement)
          .then(
            () => 'done',
            (error: Error) => `${error.constructor.name}: ${error.message}`,
          ),
      )
    return JSON.parse(JSON.stringify(seen)) as unknown[]
  } finally {
    await orm.close()
    rmSync(folder, { recursive: true })
  }
}

test('it stores, quotes and refuses as the driver of the package does', async () => {
  const own = await behaviour(SqliteDriver)
  assert.equal(own, await behaviour(BetterSqliteDriver))
  assert.match(own.at(-6) as string, /^UniqueConstraintViolationException: /)
})

test.run()
