/**
 * Compiled definitions, shared by the servers of a run of tests: compiling those of all types takes a second and a half.
 * The first server that compiles them leaves them behind when it stops; later ones find them in their new database, as
 * a server that is started again does.
 */
import { hash } from 'node:crypto'
import type { AnyPlugin } from '../../kernel/index.ts'
import { type Database, sql } from '../../plugins/database/service.ts'
import { readRunFile, writeRunFile } from './run-file.ts'

interface CatalogRow {
  readonly fingerprint: string
  readonly body: string
}

const find = sql('test.catalog-find', 'SELECT 1 AS found FROM catalog LIMIT 1')
const readNames = sql('test.catalog-names', 'SELECT fingerprint FROM catalog')
const readRows = sql('test.catalog-read', 'SELECT fingerprint, body FROM catalog ORDER BY fingerprint')
const insert = sql(
  'test.catalog-insert',
  'INSERT INTO catalog (fingerprint, body) VALUES (?, ?) ON CONFLICT DO NOTHING',
)

const known = new Map<string, readonly CatalogRow[]>()
const keys = new WeakMap<AnyPlugin, string>()

/** Says which key the definitions of this plugin have, for plugins that add to them. Returns the plugin. */
export const withCatalogKey = (plugin: AnyPlugin, key: string): AnyPlugin => {
  keys.set(plugin, key)
  return plugin
}
export const catalogKeyOf = (plugin: AnyPlugin): string | undefined => keys.get(plugin)

const fileOf = (key: string): string => `catalog-${hash('sha256', key)}.json`

const rowsOf = (key: string): readonly CatalogRow[] => {
  const rows = known.get(key) ?? (JSON.parse(readRunFile(fileOf(key)) ?? '[]') as readonly CatalogRow[])
  if (rows.length > 0) known.set(key, rows)
  return rows
}

/** `key` stands for the definitions: equal ones have an equal key. Does nothing where the database has a catalog. */
export const putCompiledCatalog = async (database: Database, key: string): Promise<void> => {
  const rows = rowsOf(key)
  if (rows.length === 0 || database.isReader || (await database.get(find, [])) !== undefined) return
  await database.transact(async (transaction) => {
    for (const { fingerprint, body } of rows) await transaction.run(insert, [fingerprint, body])
  })
}

/** Keeps what the database has of these definitions, where that is more than is known. */
export const keepCompiledCatalog = async (database: Database, key: string, fingerprint: string): Promise<void> => {
  const isOwn = (row: Pick<CatalogRow, 'fingerprint'>): boolean =>
    row.fingerprint === fingerprint || row.fingerprint.startsWith(`${fingerprint}#`)
  // Mostly all is known, and megabytes need not be read.
  const names = await database.all<Pick<CatalogRow, 'fingerprint'>>(readNames, [])
  if (names.filter(isOwn).length <= rowsOf(key).length) return
  const own = (await database.all<CatalogRow>(readRows, [])).filter(isOwn)
  known.set(key, own)
  writeRunFile(fileOf(key), JSON.stringify(own))
}
