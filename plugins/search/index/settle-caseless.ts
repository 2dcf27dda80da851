/**
 * When a package changes whether a code system is case-sensitive, the columns that hold its codes are indexed again.
 */
import { type Database, sql, whenStored } from '../../database/service.ts'
import { COLUMN_STEP } from '../definition/column-codes.ts'
import { isIn, q, raw } from '../sql/fragment.ts'
import { CONTAINED_OFFSET } from './contained/key-space.ts'
import { countGeneration } from './count-generation.ts'
import { nextLayout } from './layout.ts'
import type { Waiting } from './settings.ts'
import { DIRTY, setBackfilledTo } from './tables.ts'

const readIndexed = sql('search.caseless', "SELECT value FROM search_setting WHERE name = 'caseless'")
const writeIndexed = sql(
  'search.caseless-write',
  "INSERT INTO search_setting (name, value) VALUES ('caseless', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
)
/** Columns that hold systems of codes, by table. */
const PLACES = [
  {
    table: 'ix_token',
    columns: ['sys'],
    readAnyRow: sql('search.caseless-any-token', 'SELECT 1 AS found FROM ix_token LIMIT 1'),
  },
  {
    table: 'ix_comp',
    columns: ['sys', 'sys2'],
    readAnyRow: sql('search.caseless-any-comp', 'SELECT 1 AS found FROM ix_comp LIMIT 1'),
  },
] as const

/** The column that a row's code belongs to; for contained resources, the column of the same parameter. */
const columnOf = (param: number): number => {
  const own = param < 0 ? param + CONTAINED_OFFSET : param
  return own - (own % COLUMN_STEP)
}

/** Resets the columns that hold codes of systems whose case-sensitivity has changed since they were indexed. */
export const settleCaseless = async (
  database: Database,
  short: (text: string) => number,
  systems: readonly string[],
  waiting: Waiting,
): Promise<void> => {
  const now = JSON.stringify(systems)
  const readHeld = async (): Promise<string> => (await database.get<{ value: string }>(readIndexed, []))?.value ?? '[]'
  if (database.isReader) {
    await whenStored(waiting.signal, async () => (await readHeld()) === now || undefined, waiting.onWait)
    return
  }
  const held = await readHeld()
  if (held === now) return
  const before = JSON.parse(held) as readonly string[]
  const changed = [
    ...systems.filter((one) => !before.includes(one)),
    ...before.filter((one) => !systems.includes(one)),
  ].map(short)
  const columns = new Set<number>()
  for (const { table, columns: systemColumns, readAnyRow } of PLACES) {
    // A new database has no rows: it need not start a thread to look through them.
    if ((await database.get(readAnyRow, [])) === undefined) continue
    for (const column of systemColumns) {
      const { text, params } =
        q`SELECT DISTINCT x.param AS param FROM ${raw(table)} x WHERE ${isIn(`x.${column}`, changed)}`
      const rows = await database.longQuery<{ param: number }>(
        sql(`search.caseless-${table}-${column}-${params.length}`, text),
        params,
      )
      for (const { param } of rows) columns.add(columnOf(param))
    }
  }
  await database.transact(async (transaction) => {
    for (const code of columns) await transaction.run(setBackfilledTo, [DIRTY, code])
    await transaction.run(writeIndexed, [now])
    await transaction.run(nextLayout, [])
    if (columns.size > 0) await countGeneration(transaction)
  })
}
