/** The kinds of database that tests run on, each with a function that creates an empty one. */
import { hash } from 'node:crypto'
import { constants, copyFileSync, existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AnyPlugin } from '../../kernel/index.ts'
import { migrateDatabase, schemaKey, templatesOf } from './migrated-database.ts'
import type { Postgres } from './postgres.ts'
import { runPath } from './run-file.ts'

export interface FreshDatabase {
  /** Sections of server.toml that open it; it can be opened repeatedly. */
  readonly settings: Record<string, unknown>
  remove(): Promise<void>
}

export interface DatabaseKind {
  readonly name: 'sqlite' | 'memory' | 'postgres'
  /** An empty one; with `plugins` it may have their schema already. */
  fresh(plugins?: readonly AnyPlugin[]): Promise<FreshDatabase>
  /**
   * An empty one with the schema of the plugins, for a server in a process of its own: loading what migrates takes that
   * process almost as long as the rest of its start, and the process of a test has mostly loaded it.
   */
  migrated(plugins: readonly AnyPlugin[]): Promise<FreshDatabase>
}

/** A new temporary folder, and a function that removes it. */
export const temporaryFolder = (): { readonly path: string; remove(): void } => {
  const path = mkdtempSync(join(tmpdir(), 'refhir-test-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

const makeSqliteTemplate = async (plugins: readonly AnyPlugin[]): Promise<string> => {
  const folder = temporaryFolder()
  process.once('exit', () => folder.remove())
  const path = join(folder.path, 'template.sqlite')
  await migrateDatabase({ kind: 'sqlite', sqlite_path: path }, plugins)
  return path
}
const ownTemplate = templatesOf(makeSqliteTemplate)

/** The processes of one run share their templates. */
const sqliteTemplate = async (plugins: readonly AnyPlugin[] | undefined): Promise<string | undefined> => {
  if (plugins === undefined) return undefined
  const shared = runPath(`schema-${hash('sha256', schemaKey(plugins))}.sqlite`)
  if (shared === undefined) return ownTemplate(plugins)
  if (!existsSync(shared)) renameSync(await makeSqliteTemplate(plugins), shared)
  return shared
}

const freshSqlite = (template?: string): FreshDatabase => {
  const folder = temporaryFolder()
  const path = join(folder.path, 'test.sqlite')
  if (template !== undefined) copyFileSync(template, path, constants.COPYFILE_FICLONE)
  return {
    settings: { database: { kind: 'sqlite', sqlite_path: path } },
    remove: async () => folder.remove(),
  }
}

const sqlite: DatabaseKind = {
  name: 'sqlite',
  fresh: async (plugins) => freshSqlite(await sqliteTemplate(plugins)),
  migrated: async (plugins) => freshSqlite((await sqliteTemplate(plugins)) ?? (await makeSqliteTemplate(plugins))),
}

const freshMemory = async (): Promise<FreshDatabase> => ({
  settings: { database: { kind: 'memory' } },
  remove: async () => undefined,
})
const memory: DatabaseKind = { name: 'memory', fresh: freshMemory, migrated: freshMemory }

// One PostgreSQL per process: started when the first test uses it, ended with the process.
let server: Promise<Postgres> | undefined
let databases = 0

const runningPostgres = async (): Promise<Postgres> => {
  server ??= import('./postgres.ts').then(({ startPostgres }) => startPostgres())
  return server
}

const nextName = (): string => {
  databases += 1
  return `test${databases}`
}

const postgresTemplate = templatesOf(async (plugins) => {
  const { createDatabase, url } = await runningPostgres()
  const name = nextName()
  await createDatabase(name)
  await migrateDatabase({ kind: 'postgres', postgres_url: url(undefined, name) }, plugins)
  return name
})

const freshPostgres = async (
  template?: string,
): Promise<FreshDatabase & { readonly place: Parameters<typeof migrateDatabase>[0] }> => {
  const { createDatabase, dropDatabase, url } = await runningPostgres()
  const name = nextName()
  await createDatabase(name, template)
  const place = { kind: 'postgres', postgres_url: url(undefined, name) } as const
  return { place, settings: { database: place }, remove: () => dropDatabase(name) }
}

const postgres: DatabaseKind = {
  name: 'postgres',
  fresh: async (plugins) => freshPostgres(await postgresTemplate(plugins)),
  async migrated(plugins) {
    const template = await postgresTemplate(plugins)
    const fresh = await freshPostgres(template)
    if (template === undefined) await migrateDatabase(fresh.place, plugins)
    return fresh
  },
}

/** SQLite, for tests that open one database several times, one after the other. */
export const sqliteKind: DatabaseKind = sqlite
/** PostgreSQL, for tests that open one database several times at once. */
export const postgresKind: DatabaseKind = postgres

const every: readonly DatabaseKind[] = [sqlite, memory, postgres]

// One process runs files of several kinds, and this module stays loaded: what follows reads `TEST_DATABASE` each time, which
// the process sets before it loads a file.

/** The kinds a storage test runs on: all, or the one that `TEST_DATABASE` names. */
export const databaseKinds = (): readonly DatabaseKind[] =>
  every.filter(({ name }) => (process.env.TEST_DATABASE ?? name) === name)

const kindOfFile = (): DatabaseKind => {
  const [first, ...others] = databaseKinds()
  return first !== undefined && others.length === 0 ? first : memory
}

/** The kind that tests of the server run on: the one that `TEST_DATABASE` names, else memory. Compare its name, not the object. */
export const chosenKind: DatabaseKind = {
  get name() {
    return kindOfFile().name
  },
  fresh: (plugins) => kindOfFile().fresh(plugins),
  migrated: (plugins) => kindOfFile().migrated(plugins),
}

/**
 * `db_pool` for tests whose requests come one after the other: each further session on PostgreSQL prepares the statements once
 * more, and each further thread that reads a SQLite file takes as much to start as a hundred requests.
 */
export const sessionsInTurn = (): number => (chosenKind.name === 'sqlite' ? 1 : 2)
