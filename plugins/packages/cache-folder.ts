/** The folder of the package cache when no setting names one. Spec: [conformance] package_cache. */
import { dirname, join } from 'node:path'
import { type Database, sql } from '../database/service.ts'

// The only query that gives the file of an open database. https://sqlite.org/pragma.html#pragma_database_list
const DATABASE_LIST = sql('packages.database-list', 'PRAGMA database_list')

/** `package-cache` next to the SQLite file; `.refhir/packages` for other kinds of database. */
export const cacheFolder = async (db: Database): Promise<string> => {
  if (db.kind !== 'sqlite') return join('.refhir', 'packages')
  const files = await db.all<{ name: string; file: string }>(DATABASE_LIST, [])
  const { file = '' } = files.find(({ name }) => name === 'main') ?? {}
  return join(dirname(file), 'package-cache')
}
