/** The steps that make the tables of this plugin and of those that are composed with it, in the order of a new database. */
import type { SchemaChange } from '../../kernel/index.ts'
import { exactMigrations } from '../search/index/exact-migrations.ts'
import { wordMigrations } from '../search/index/full-text/text-tables.ts'
import { displayMigrations, searchMigrations } from '../search/index/tables.ts'
import { keyMigrations, migrations, smallBodyMigrations } from '../storage/tables.ts'

export const allMigrations: readonly SchemaChange[] = [
  ...migrations,
  ...searchMigrations,
  ...wordMigrations,
  ...displayMigrations,
  ...smallBodyMigrations,
  ...exactMigrations,
  ...keyMigrations,
]
