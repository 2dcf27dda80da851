import type BetterSqlite from 'better-sqlite3'
import { DatabaseDamaged } from '../errors.ts'

/** Reads every page and index of a database. Throws DatabaseDamaged. */
export const checkWhole = (handle: BetterSqlite.Database, path: string): void => {
  const [first] = handle.pragma('integrity_check(1)') as { readonly integrity_check: string }[]
  const found = first?.integrity_check ?? 'it cannot be read'
  if (found !== 'ok') throw DatabaseDamaged(path, found.replaceAll(/\s+/g, ' '))
}
