/** The kinds of database that tests run on, each with a way to a fresh one. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Postgres } from './postgres.ts'

export interface FreshDatabase {
  /** Sections of server.toml that open it, as often as one likes. */
  readonly settings: Record<string, unknown>
  remove(): Promise<void>
}

export interface DatabaseKind {
  readonly name: 'sqlite' | 'memory' | 'postgres'
  fresh(): Promise<FreshDatabase>
}

/** A folder that is gone when `remove` is called. */
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

// One server per process, started when the first test asks for it and gone with the process.
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

/** For tests that open one database several times, one after the other. */
export const sqliteKind: DatabaseKind = sqlite
/** For tests that open one database several times at once. */
export const postgresKind: DatabaseKind = postgres

const every: readonly DatabaseKind[] = [sqlite, memory, postgres]

/** The kinds a storage test runs on: all, or the one that `TEST_DATABASE` names. */
export const databaseKinds: readonly DatabaseKind[] = every.filter(
  ({ name }) => (process.env.TEST_DATABASE ?? name) === name,
)

/** The kind a server test runs on: what `TEST_DATABASE` names, else memory. */
export const chosenKind: DatabaseKind = databaseKinds.length === 1 ? (databaseKinds[0] as DatabaseKind) : memory
