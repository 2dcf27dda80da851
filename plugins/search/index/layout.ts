/**
 * The layout: a number for what writes put into the index. It increases whenever columns are added, marked GONE or taken
 * up again, or values are extracted differently. Several servers write into one PostgreSQL database, and each learns only
 * some time later that another one has changed the columns. These steps make sure that a backfill misses no row:
 *
 * 1. A transaction that changes the layout commits the columns together with the next number.
 * 2. A write locks rows of `resource` (ROW EXCLUSIVE on the table, held until its end). Then a statement, sent together
 *    with its others, compares the number in the database with the one that its index rows were made for. If they differ,
 *    the write fails, is rolled back, and is retried on the current data.
 * 3. A server that clears or fills columns reads a number n, and then waits for all transactions that hold locks as in
 *    2 and 4.
 * 4. Each of its transactions locks the rows of its columns (ROW SHARE on `search_column`), and then compares. If the
 *    number is not n, the transaction is rolled back and the server continues with 3.
 *
 * Why this is complete: let W be a write for a number before n. Its comparison succeeded, so its snapshot is older than the
 * commit of n, and W had its lock by then. Step 3 looks after the commit of n: either it finds the lock and waits, or W has
 * ended. So all clearing and filling for n begins after the end of W and sees what W committed. A backfill for a number
 * before n writes rows as W does and takes its lock before its comparison, too, so step 3 waits for it as well.
 * Let W be a write for n. While it holds the row of the resource, it writes the difference between two versions in every
 * column of n. The backfill holds the same row (FOR UPDATE reads the newest version once it has the lock). If the backfill
 * is first, it has added all rows of the version that W replaces, so the difference is right; if W is first, the backfill
 * adds all rows of the version that W wrote. A resource that the backfill does not see was either created by W, which wrote
 * all of its rows, or deleted, and the write that restores it writes all of its rows.
 * Clearing ends before filling begins (`reach`). Rows that writes for n add during the clearing, and that it removes, are
 * added again by the backfill.
 * A column that is complete stays complete: writes for n and later numbers update it, until a later number marks it GONE.
 * If a number after that takes it up again, it is cleared first.
 *
 * SQLite has only one process that writes, so nothing is compared.
 */
import type { Clock } from '../../../kernel/index.ts'
import { type Database, isOutdated, Outdated, outdatedWhere, sql, type Transaction } from '../../database/service.ts'

const POLL_MS = 10 // between two checks of the transactions that step 3 waits for

const LAYOUT = "SELECT value FROM search_setting WHERE name = 'layout'"
/** There is no row before the first change; the number is then 0. */
const readLayout = sql('search.layout', LAYOUT)
export const nextLayout = sql(
  'search.layout-next',
  "INSERT INTO search_setting (name, value) VALUES ('layout', '1') ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(search_setting.value AS bigint) + 1 AS text)",
)
const compareLayout = sql(
  'search.layout-compare',
  `SELECT ${outdatedWhere('l.value IS DISTINCT FROM CAST(? AS text)', 'l.value')} AS one FROM (SELECT coalesce((${LAYOUT}), '0') AS value) l`,
)
// Locks on tables are held until the end of a transaction, and every role may read pg_locks.
const readWriters = sql('search.layout-writers', {
  sqlite: 'SELECT 0 AS who WHERE 0',
  postgres:
    "SELECT DISTINCT l.virtualtransaction AS who FROM pg_locks l WHERE l.locktype = 'relation' AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()) AND l.relation IN ('resource'::regclass, 'search_column'::regclass) AND l.mode IN ('RowShareLock', 'RowExclusiveLock')",
})

/** Reads the number in the database. */
export const layoutNow = async (source: Pick<Transaction, 'get'>): Promise<string> =>
  (await source.get<{ value: string }>(readLayout, []))?.value ?? '0'

export interface LayoutParts {
  readonly database: Database
  readonly registry: { readonly layout: string; refresh(): Promise<boolean> }
  readonly clock: Clock
}

/** Makes the comparison of step 2, which a write sends once in each transaction. */
export const createLayoutComparison = (database: Pick<Database, 'kind'>, registry: LayoutParts['registry']) => {
  if (database.kind !== 'postgres') return () => undefined
  // Rows that the transaction adds later may be for a higher number; they contain all that the earlier number
  // requires.
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
    /** Called inside a transaction that has locked its columns. Throws Outdated when the number has changed. */
    async compare(transaction: Transaction): Promise<void> {
      if (database.kind === 'postgres' && (await layoutNow(transaction)) !== settled) throw Outdated()
    },
    /**
     * Waits until no write for an earlier layout is open, then runs `work`, whose transactions call `compare`.
     * Resolves to undefined, with nothing done, when the layout has changed meanwhile. Throws Outdated when this
     * server cannot write the current layout.
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
