/**
 * Creates the schema of a database in memory, which is always new: without MikroORM, which takes long to load,
 * and several times as long to run the same statements. What is recorded is what MikroORM records.
 */
import type BetterSqlite from 'better-sqlite3'
import type { SchemaChange } from '../../../kernel/index.ts'
import { MIGRATION_TABLE } from '../schema.ts'

/** All in one transaction; a statement that fails leaves nothing. `pins`: name → value. */
export const createInMemory = (
  handle: BetterSqlite.Database,
  changes: readonly SchemaChange[],
  pins: Readonly<Record<string, string>>,
): void => {
  const create = handle.transaction(() => {
    handle.exec(
      `CREATE TABLE ${MIGRATION_TABLE} (id integer NOT NULL PRIMARY KEY AUTOINCREMENT, name varchar(255), executed_at datetime DEFAULT CURRENT_TIMESTAMP)`,
    )
    for (const { sql } of changes) for (const statement of 'sqlite' in sql ? sql.sqlite : sql) handle.exec(statement)
    const record = handle.prepare(`INSERT INTO ${MIGRATION_TABLE} (name) VALUES (?)`)
    for (const { name } of changes) record.run(name)
    const pin = handle.prepare('INSERT INTO database_pin (name, value) VALUES (?, ?)')
    for (const one of Object.entries(pins)) pin.run(...one)
  })
  create()
}
