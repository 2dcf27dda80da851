/**
 * Tables of packages and their definitions. Each package is installed in one transaction, so completely or not at all.
 */
import { type Database, sql } from '../database/service.ts'
import type { CompressedDefinition } from './content.ts'
import type { DefinitionRows } from './service.ts'

export interface InstalledPackage {
  /** Order of installation. */
  readonly seq: number
  readonly name: string
  readonly version: string
  /** Where it came from: the URL of a registry, a bucket, a path. */
  readonly source: string
  /** SHA-256 of the .tgz, or of a directory's definitions. */
  readonly sha: string
  /** For a directory or .tgz: a text that changes when it changes on disk. */
  readonly stamp: string | undefined
  /** `name@version` of the core package, where this package holds its definitions under another name. */
  readonly standsFor: string | undefined
  /** Dependencies that the source does not have. */
  readonly missing: readonly string[]
  readonly definitions: number
  /** Milliseconds since the epoch. */
  readonly installedAt: number
}

export interface StoredDefinition extends CompressedDefinition {
  readonly seq: number
}

export type StoredName = Omit<StoredDefinition, 'body' | 'type'>

export interface PackageTables {
  /** In the order of installation. */
  packages(): Promise<readonly InstalledPackage[]>
  /** Stores a package in place of one with the same name and version, or from the same directory or .tgz. */
  install(
    pack: Omit<InstalledPackage, 'seq' | 'definitions'>,
    definitions: readonly CompressedDefinition[],
  ): Promise<void>
  /** In the order of installation. */
  all(type: string): Promise<readonly StoredDefinition[]>
  find(type: string, url: string): Promise<readonly StoredDefinition[]>
  /** Resource types of which there are definitions. */
  types(): Promise<readonly string[]>
  /** Without bodies, in the order of installation. */
  names(type: string, from: DefinitionRows): Promise<readonly StoredName[]>
  /** The bodies of definitions, by the `seq` of their package and their id. `at` is the place in the list. */
  bodies(
    type: string,
    keys: readonly (readonly [seq: number, id: string])[],
    from: DefinitionRows,
  ): Promise<readonly { readonly at: number; readonly body: Uint8Array }[]>
}

const SELECT_PACKAGES = sql(
  'packages.packages',
  'SELECT seq, name, version, source, sha, stamp, stands_for, missing, definitions, installed_at FROM package ORDER BY seq',
)
// Two transactions that replace the same package would each miss the definitions that the other one has just inserted.
// Reads are not blocked.
const LOCK_PACKAGES = sql('packages.lock', 'LOCK TABLE package IN SHARE ROW EXCLUSIVE MODE')
const REPLACED = sql(
  'packages.replaced',
  'SELECT seq FROM package WHERE (name = ? AND version = ?) OR (stamp IS NOT NULL AND source = ?) ORDER BY seq',
)
const NEXT_SEQ = sql('packages.next', 'SELECT coalesce(max(seq), 0) + 1 AS seq FROM package')
const DELETE_DEFINITIONS = sql('packages.delete-definitions', 'DELETE FROM definition WHERE package = ?')
const DELETE_PACKAGE = sql('packages.delete', 'DELETE FROM package WHERE seq = ?')
const INSERT_PACKAGE = sql(
  'packages.insert',
  'INSERT INTO package (seq, name, version, source, sha, stamp, stands_for, missing, definitions, installed_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
)
const INSERT_DEFINITION = sql(
  'packages.insert-definition',
  'INSERT INTO definition (package, type, id, url, version, body) VALUES (?, ?, ?, ?, ?, ?)',
)
const COLUMNS = 'package AS seq, type, id, url, version, body'
const SELECT_TYPE = sql('packages.type', `SELECT ${COLUMNS} FROM definition WHERE type = ? ORDER BY package, id`)
const SELECT_URL = sql(
  'packages.url',
  `SELECT ${COLUMNS} FROM definition WHERE url = ? AND type = ? ORDER BY package, id`,
)

const SELECT_TYPES = sql('packages.types', 'SELECT DISTINCT type FROM definition ORDER BY type')
const SELECT_NAMES = sql(
  'packages.names',
  'SELECT package AS seq, id, url, version FROM definition WHERE type = ? ORDER BY package, id',
)
// The second parameter is JSON, [[package, id], …].
const SELECT_BODIES = sql('packages.bodies', {
  sqlite:
    "SELECT w.key AS at, d.body AS body FROM json_each(?) w CROSS JOIN definition d WHERE d.type = ? AND d.package = w.value ->> '$[0]' AND d.id = w.value ->> '$[1]'",
  postgres:
    'SELECT (w.at - 1)::int AS at, d.body AS body FROM jsonb_array_elements(?::jsonb) WITH ORDINALITY AS w(pair, at) JOIN definition d ON d.type = ? AND d.package = (w.pair ->> 0)::int AND d.id = w.pair ->> 1',
})

interface PackageRow {
  readonly seq: number
  readonly name: string
  readonly version: string
  readonly source: string
  readonly sha: string
  readonly stamp: string | null
  readonly stands_for: string | null
  readonly missing: string
  readonly definitions: number
  readonly installed_at: number | string
}

interface DefinitionRow {
  readonly seq: number
  readonly type: string
  readonly id: string
  readonly url: string | null
  readonly version: string | null
  readonly body: Uint8Array
}

const toDefinition = ({ seq, type, id, url, version, body }: DefinitionRow): StoredDefinition => ({
  seq,
  type,
  id,
  url: url ?? undefined,
  version: version ?? undefined,
  body,
})

export const createTables = (db: Database): PackageTables => ({
  async packages() {
    const rows = await db.all<PackageRow>(SELECT_PACKAGES, [])
    return rows.map(({ stamp, stands_for, missing, installed_at, ...row }) => ({
      ...row,
      stamp: stamp ?? undefined,
      standsFor: stands_for ?? undefined,
      missing: JSON.parse(missing) as string[],
      // PostgreSQL returns bigint as text.
      installedAt: Number(installed_at),
    }))
  },
  async install({ name, version, source, sha, stamp, standsFor, missing, installedAt }, definitions) {
    await db.transact(async (transaction) => {
      transaction.publish({ about: 'packages' })
      if (db.kind === 'postgres') await transaction.run(LOCK_PACKAGES, [])
      const replaced = await transaction.all<{ seq: number }>(REPLACED, [name, version, source])
      for (const { seq } of replaced) {
        await transaction.run(DELETE_DEFINITIONS, [seq])
        await transaction.run(DELETE_PACKAGE, [seq])
      }
      // Keeps the place of the package it replaces in the order of installation.
      const { seq } = replaced[0] ?? (await transaction.get<{ seq: number }>(NEXT_SEQ, []))!
      await transaction.run(INSERT_PACKAGE, [
        seq,
        name,
        version,
        source,
        sha,
        stamp ?? null,
        standsFor ?? null,
        JSON.stringify(missing),
        definitions.length,
        installedAt,
      ])
      for (const { type, id, url, version: own, body } of definitions)
        await transaction.run(INSERT_DEFINITION, [seq, type, id, url ?? null, own ?? null, body])
    })
  },
  async all(type) {
    return (await db.all<DefinitionRow>(SELECT_TYPE, [type])).map(toDefinition)
  },
  async find(type, url) {
    return (await db.all<DefinitionRow>(SELECT_URL, [url, type])).map(toDefinition)
  },
  async types() {
    return (await db.all<{ type: string }>(SELECT_TYPES, [])).map(({ type }) => type)
  },
  async names(type, from) {
    const rows = await from.all<Omit<DefinitionRow, 'body' | 'type'>>(SELECT_NAMES, [type])
    return rows.map(({ seq, id, url, version }) => ({ seq, id, url: url ?? undefined, version: version ?? undefined }))
  },
  async bodies(type, keys, from) {
    return from.all(SELECT_BODIES, [JSON.stringify(keys), type])
  },
})

/** The schema of both tables. */
export const PACKAGE_TABLES = {
  name: 'packages/0001-packages',
  sql: {
    sqlite: [
      `CREATE TABLE package (seq INTEGER PRIMARY KEY, name TEXT NOT NULL, version TEXT NOT NULL, source TEXT NOT NULL,
        sha TEXT NOT NULL, stamp TEXT, stands_for TEXT, missing TEXT NOT NULL, definitions INTEGER NOT NULL,
        installed_at INTEGER NOT NULL, UNIQUE (name, version))`,
      `CREATE TABLE definition (package INTEGER NOT NULL REFERENCES package (seq), type TEXT NOT NULL, id TEXT NOT NULL,
        url TEXT, version TEXT, body BLOB NOT NULL)`,
      'CREATE UNIQUE INDEX definition_type ON definition (type, package, id)',
      'CREATE INDEX definition_url ON definition (url) WHERE url IS NOT NULL',
    ],
    postgres: [
      `CREATE TABLE package (seq integer PRIMARY KEY, name text NOT NULL, version text NOT NULL, source text NOT NULL,
        sha text NOT NULL, stamp text, stands_for text, missing text NOT NULL, definitions integer NOT NULL,
        installed_at bigint NOT NULL, UNIQUE (name, version))`,
      `CREATE TABLE definition (package integer NOT NULL REFERENCES package (seq), type text NOT NULL, id text NOT NULL,
        url text, version text, body bytea NOT NULL)`,
      'ALTER TABLE definition ALTER COLUMN body SET STORAGE EXTERNAL',
      'CREATE UNIQUE INDEX definition_type ON definition (type, package, id)',
      'CREATE INDEX definition_url ON definition (url) WHERE url IS NOT NULL',
    ],
  },
}
