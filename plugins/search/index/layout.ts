/**
 * What every write puts into the index, by number: the layout. It is another one whenever columns are added, put aside
 * or taken up again, or values are made otherwise. Several servers write into one PostgreSQL, and each learns late of
 * what another one was sent. So that the fill of a column may count on the others:
 *
 * 1. A transaction that changes the layout commits the columns and the next number together.
 * 2. A write locks rows of `resource` (ROW EXCLUSIVE on the table, held until its end), then compares the number in the
 *    database with the one its index rows were made for, in a statement that travels with its others. With another
 *    number it fails, is undone, and is made again from what is there now.
 * 3. Whoever clears or fills columns reads a number n, and then waits for all transactions that hold locks as in 2 and 4.
 * 4. Each of its transactions locks the rows of its columns (ROW SHARE on `search_column`), then compares: with another
 *    number than n it is undone, and begins again with 3.
 *
 * No order of these steps leaves a gap. Take a write W made for a number before n. Its comparison succeeded, so its
 * snapshot is older than the commit of n, and W had its lock by then. Step 3 looks after the commit of n: it meets the
 * lock and waits, or W has ended. So all clearing and filling for n begins after the end of W: it sees what W committed.
 * A fill for a number before n writes rows as W does, has its lock before its comparison too, and is waited for as well.
 * Take a write W made for n. It writes the difference between two versions in every column of n while it holds the row
 * of the resource, and so does the fill (FOR UPDATE, which reads the newest version once it has the lock). If the fill comes
 * first, it has put in all rows of the version W replaces, and the difference is right; if W comes first, the fill adds
 * all rows of the version W wrote. A resource that the fill does not see was created by W, which wrote all of its rows,
 * or was deleted, and what brings it back writes all of its rows.
 * Clearing ends before filling begins (`reach`); rows that writes for n add meanwhile and that are taken out with the
 * others are added again by the fill.
 * A column that is complete stays so: writes for n and later keep it, until a later number takes it out; if a number after
 * that takes it up again, it is cleared first.
 *
 * SQLite has one process that writes, and compares nothing.
 */
import type { Clock } from '../../../kernel/index.ts'
import { type Database, isOutdated, Outdated, outdatedWhere, sql, type Transaction } from '../../database/service.ts'

const POLL_MS = 10 // between two looks at transactions that are waited for

const LAYOUT = "SELECT value FROM search_setting WHERE name = 'layout'"
/** No row before the first change. */
const readLayout = sql('search.layout', LAYOUT)
export const nextLayout = sql(
  'search.layout-next',
  "INSERT INTO search_setting (name, value) VALUES ('layout', '1') ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(search_setting.value AS bigint) + 1 AS text)",
)
const compareLayout = sql(
  'search.layout-compare',
  `SELECT ${outdatedWhere('l.value IS DISTINCT FROM CAST(? AS text)', 'l.value')} AS one FROM (SELECT coalesce((${LAYOUT}), '0') AS value) l`,
)
// Locks of tables are held until the end of a transaction, and everybody may see them.
const readWriters = sql('search.layout-writers', {
  sqlite: 'SELECT 0 AS who WHERE 0',
  postgres:
    "SELECT DISTINCT l.virtualtransaction AS who FROM pg_locks l WHERE l.locktype = 'relation' AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()) AND l.relation IN ('resource'::regclass, 'search_column'::regclass) AND l.mode IN ('RowShareLock', 'RowExclusiveLock')",
})

/** The number in the database. */
export const layoutNow = async (source: Pick<Transaction, 'get'>): Promise<string> =>
  (await source.get<{ value: string }>(readLayout, []))?.value ?? '0'

export interface LayoutParts {
  readonly database: Database
  readonly registry: { readonly layout: string; refresh(): Promise<boolean> }
  readonly clock: Clock
}

/** What a write sends along, once in each transaction. */
export const createLayoutComparison = (database: Pick<Database, 'kind'>, registry: LayoutParts['registry']) => {
  if (database.kind !== 'postgres') return () => undefined
  // Later rows of a transaction may be made for a later number, which contains what the earlier one asked for.
  const compared = new WeakSet<Transaction>()
  return (transaction: Transaction) => {
    if (compared.has(transaction)) return undefined
    compared.add(transaction)
    return transaction.run(compareLayout, [registry.layout])
  }
}

/** Steps 3 and 4. */
export const createLayoutGate = ({ database, registry, clock }: LayoutParts) => {
  let settled: string | undefined

  const wait = (): Promise<void> =>
    new Promise((resolve) => clock.deadline(POLL_MS).addEventListener('abort', () => resolve(), { once: true }))
  const readOpen = async (): Promise<readonly string[]> =>
    (await database.all<{ who: string }>(readWriters, [])).map(({ who }) => who)
  const settle = async (): Promise<void> => {
    while (settled !== registry.layout) {
      const { layout } = registry
      let left = new Set(await readOpen())
      while (left.size > 0) {
        await wait()
        left = new Set((await readOpen()).filter((who) => left.has(who)))
      }
      settled = layout
    }
  }

  return {
    /** Inside a transaction that has locked its columns: throws Outdated when the layout is another one by now. */
    async compare(transaction: Transaction): Promise<void> {
      if (database.kind === 'postgres' && (await layoutNow(transaction)) !== settled) throw Outdated()
    },
    /**
     * Runs `work`, whose transactions call `compare`, once no write for an earlier layout is open. Undefined when the
     * layout was changed meanwhile: then nothing was done. Throws Outdated where this server cannot write the layout.
     */
    async run<T>(work: () => Promise<T>): Promise<T | undefined> {
      if (database.kind !== 'postgres') return work()
      await settle()
      try {
        return await work()
      } catch (error) {
        if (!isOutdated(error)) throw error
        await registry.refresh()
        if (registry.layout === settled) throw error
        return undefined
      }
    },
  }
}

export type LayoutGate = ReturnType<typeof createLayoutGate>
