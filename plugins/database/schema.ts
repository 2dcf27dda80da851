/**
 * Compares the recorded migrations with those of this build. Done without MikroORM, so that `migrate --status` changes
 * nothing and a start without pending migrations costs one small query. Spec: Versioning 1 and 4.
 */
import type { AnyPlugin, SchemaChange } from '../../kernel/index.ts'
import { DatabaseNewer, DatabaseRelease } from './errors.ts'

/** Name of the table MikroORM records migrations in. */
export const MIGRATION_TABLE = 'migration'

export interface RecordedSchema {
  readonly migrations: readonly { readonly name: string; readonly executed_at: string }[]
  /** FHIR release and build that made or last migrated the database; empty for a new one. */
  readonly pins: Readonly<Record<string, string>>
}

export interface SchemaPlan {
  readonly recorded: RecordedSchema['migrations']
  readonly pending: readonly SchemaChange[]
  /** Migrations recorded by plugins that are not loaded now; their tables stay as they are. */
  readonly orphaned: readonly string[]
}

/** All migrations of all plugins, disabled ones too: in the order of the plugins, each plugin's in its own order. */
export const changesOf = (plugins: readonly AnyPlugin[]): readonly SchemaChange[] =>
  plugins.flatMap((plugin) => plugin.migrations ?? [])

/** What a start would do. Throws when this build must not open the database. */
export const planSchema = (
  recorded: RecordedSchema,
  plugins: readonly AnyPlugin[],
  build: string,
  release: string,
): SchemaPlan => {
  const pinned = recorded.pins.fhir_version
  if (pinned !== undefined && pinned !== release) throw DatabaseRelease(pinned, release)
  const changes = changesOf(plugins)
  const ours = new Set(changes.map(({ name }) => name))
  const owners = new Set(plugins.map(({ name }) => name))
  const unknown = recorded.migrations.map(({ name }) => name).filter((name) => !ours.has(name))
  const migratedBy = recorded.pins.build ?? build
  // An unknown migration of a known plugin comes from a newer build. One of an unknown plugin does so only if a newer
  // build migrated last.
  const newer = unknown.filter((name) => owners.has(name.split('/')[0] ?? '') || isNewer(migratedBy, build))
  if (newer.length > 0) throw DatabaseNewer(migratedBy, newer.join(', '))
  const done = new Set(recorded.migrations.map(({ name }) => name))
  return {
    recorded: recorded.migrations,
    pending: changes.filter(({ name }) => !done.has(name)),
    orphaned: unknown,
  }
}

/** Compares `1.2.3` by number. */
export const isNewer = (one: string, other: string): boolean =>
  one.localeCompare(other, 'en', { numeric: true, sensitivity: 'base' }) > 0

export const NOTHING_RECORDED: RecordedSchema = Object.freeze({ migrations: [], pins: {} })
