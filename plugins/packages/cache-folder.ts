/** Where the package cache lies when no setting says so. Spec: [conformance] package_cache. */
import { dirname, join } from 'node:path'
import { type Database, sql } from '../database/service.ts'

// https://sqlite.org/pragma.html#pragma_database_list: the only way to ask an open database for its file.
const DATABASE_LIST = sql('packages.database-list', 'PRAGMA database_list')

/** `package-cache` next to the SQLite file; `.refhir/packages` for a database that has no file here. */
export const cacheFolder = async (db: Database): Promise<string> => {
  if (db.kind !== 'sqlite') return join('.refhir', 'packages')
  const files = await db.all<{ name: string; file: string }>(DATABASE_LIST, [])
  const { file = '' } = files.find(({ name }) => name === 'main') ?? {}
  return join(dirname(file), 'package-cache')
}
