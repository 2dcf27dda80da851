/**
 * MikroORM on connections of this plugin: it manages the entities and runs the migrations, the plugin opens and closes
 * the connections. Imported only when there is something to migrate or an administrative table is used.
 */
import type { EntitySchema, MigrationObject, MikroORM, Options } from '@mikro-orm/core'
import type BetterSqlite from 'better-sqlite3'
import type { SchemaChange } from '../../kernel/index.ts'
import { MIGRATION_TABLE } from './schema.ts'

export interface OrmOptions {
  readonly entities: readonly EntitySchema<any>[]
  readonly changes: readonly SchemaChange[]
  readonly kind: 'sqlite' | 'postgres'
  /** Recorded beside the last pending change, in the same transaction. */
  readonly pins?: { readonly beside: string; readonly values: Readonly<Record<string, string>> }
}

const quote = (text: string): string => `'${text.replaceAll("'", "''")}'`

const toPin = ([name, value]: [string, string]): string =>
  `INSERT INTO database_pin (name, value) VALUES (${quote(name)}, ${quote(value)}) ON CONFLICT (name) DO UPDATE SET value = excluded.value`

/** Makes migration classes of MikroORM from the SQL that plugins declare. */
const toMigrations = async ({ changes, kind, pins }: Omit<OrmOptions, 'entities'>): Promise<MigrationObject[]> => {
  const { Migration } = await import('@mikro-orm/migrations')
  return changes.map(({ name, sql }) => ({
    name,
    class: class extends Migration {
      override async up(): Promise<void> {
        for (const statement of 'sqlite' in sql ? sql[kind] : sql) this.addSql(statement)
        if (pins?.beside === name) for (const pin of Object.entries(pins.values)) this.addSql(toPin(pin))
      }
    },
  }))
}

/**
 * Options both drivers share: the list of migrations in code, all of them in one transaction, no folder, no snapshot.
 */
export const ormOptions = async (options: OrmOptions): Promise<Options> => {
  const { Migrator } = await import('@mikro-orm/migrations')
  return {
    entities: [...options.entities],
    discovery: { warnWhenNoEntities: false },
    extensions: [Migrator],
    migrations: {
      tableName: MIGRATION_TABLE,
      migrationsList: await toMigrations(options),
      snapshot: false,
      silent: true,
      allOrNothing: true,
      transactional: true,
      disableForeignKeys: false,
    },
  }
}

/** MikroORM on a better-sqlite3 handle that stays open when MikroORM closes. */
export const openSqliteOrm = async (handle: BetterSqlite.Database, options: OrmOptions): Promise<MikroORM> => {
  const [{ MikroORM: Orm }, { BetterSqliteKnexDialect, knex }, { SqliteDriver }] = await Promise.all([
    import('@mikro-orm/core'),
    import('@mikro-orm/knex'),
    import('./sqlite/orm-driver.ts'),
  ])
  class OwnHandle extends (BetterSqliteKnexDialect as any) {
    async acquireRawConnection() {
      return handle
    }
    async destroyRawConnection() {}
  }
  const client = knex({
    client: OwnHandle as any,
    connection: { filename: handle.name },
    pool: { min: 1, max: 1 },
    useNullAsDefault: true,
  })
  const shared = (await ormOptions(options)) as object
  const orm = await Orm.init({ ...shared, driver: SqliteDriver, dbName: handle.name, driverOptions: client })
  return orm as unknown as MikroORM
}
