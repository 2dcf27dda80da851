/** All tables of the plugin. */
import type { SchemaChange } from '../../kernel/index.ts'
import { closureMigrations } from './closure/tables.ts'
import { terminologyMigrations } from './indexed/tables.ts'
import { PULL_TABLES } from './pull/tables.ts'

export const migrations: readonly SchemaChange[] = [...terminologyMigrations, ...closureMigrations, PULL_TABLES]
