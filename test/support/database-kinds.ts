/** The kinds of database that tests run on, each with a function that creates an empty one. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Postgres } from './postgres.ts'

export interface FreshDatabase {
  /** Sections of server.toml that open it; it can be opened repeatedly. */
  readonly settings: Record<string, unknown>
  remove(): Promise<void>
}

export interface DatabaseKind {
  readonly name: 'sqlite' | 'memory' | 'postgres'
  fresh(): Promise<FreshDatabase>
}

/** A new temporary folder, and a function that removes it. */
export const temporaryFolder = (): { readonly path: string; remove(): void } => {
  const path = mkdtempSync(join(tmpdir(), 'refhir-test-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

const sqlite: DatabaseKind = {
  name: 'sqlite',
  async fresh() {
    const folder = temporaryFolder()
    return {
      settings: { database: { kind: 'sqlite', sqlite_path: join(folder.path, 'test.sqlite') } },
      remove: async () => folder.remove(),
    }
  },
}

const memory: DatabaseKind = {
  name: 'memory',
  fresh: async () => ({ settings: { database: { kind: 'memory' } }, remove: async () => undefined }),
}

// One PostgreSQL per process: started when the first test uses it, ended with the process.
let server: Promise<Postgres> | undefined
let databases = 0

const postgres: DatabaseKind = {
  name: 'postgres',
  async fresh() {
    server ??= import('./postgres.ts').then(({ startPostgres }) => startPostgres())
    const { admin, createDatabase, url } = await server
    databases += 1
    const name = `test${databases}`
    await createDatabase(name)
    return {
      settings: { database: { kind: 'postgres', postgres_url: url(undefined, name) } },
      remove: async () => void (await admin(`DROP DATABASE "${name}" WITH (FORCE)`)),
    }
  },
}

/** SQLite, for tests that open one database several times, one after the other. */
export const sqliteKind: DatabaseKind = sqlite
/** PostgreSQL, for tests that open one database several times at once. */
export const postgresKind: DatabaseKind = postgres

const every: readonly DatabaseKind[] = [sqlite, memory, postgres]

/** The kinds a storage test runs on: all, or the one that `TEST_DATABASE` names. */
export const databaseKinds: readonly DatabaseKind[] = every.filter(
  ({ name }) => (process.env.TEST_DATABASE ?? name) === name,
)

/** The kind that tests of the server run on: the one that `TEST_DATABASE` names, else memory. */
export const chosenKind: DatabaseKind = databaseKinds.length === 1 ? (databaseKinds[0] as DatabaseKind) : memory
