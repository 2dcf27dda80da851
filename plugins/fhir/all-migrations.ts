/** The steps that make the tables of this plugin and of those that are composed with it, in the order of a new database. */
import type { SchemaChange } from '../../kernel/index.ts'
import { displayMigrations, exactMigrations, searchMigrations, wordMigrations } from '../search/service.ts'
import { keyMigrations, migrations, smallBodyMigrations } from '../storage/service.ts'

export const allMigrations: readonly SchemaChange[] = [
  ...migrations,
  ...searchMigrations,
  ...wordMigrations,
  ...displayMigrations,
  ...smallBodyMigrations,
  ...exactMigrations,
  ...keyMigrations,
]
