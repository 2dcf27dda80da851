/**
 * The last statement before each COMMIT of the writer, in the same round trip: it fails where this process does not hold
 * the lease any more, and counts the commit where it does. An UPDATE, because takeover changes the same row: either it
 * waits for this transaction, or this statement waits for it and then fails. `FOR KEY SHARE` would let takeover pass, and
 * `FOR SHARE` would make a multixact for each commit. It is the last lock of a transaction, so no deadlock involves it.
 */
import { type Sql, type SqlParam, sql } from '../contract.ts'
import { PostgresError } from './server-error.ts'

const MARK = 'writer lease lost'

// Text that PostgreSQL cannot read as a number, and tells in its error. A division by zero would look like one of another
// statement. `count` keeps it from being evaluated while planning.
const check = sql(
  'fence',
  `WITH moved AS (UPDATE cluster_mark SET seq = seq + 1 WHERE one = 1 AND epoch = ? RETURNING seq)
   SELECT max(seq) AS seq, CASE WHEN count(*) = 1 THEN 0 ELSE CAST(concat('${MARK} ', count(*)) AS integer) END AS lost FROM moved`,
)

/** What the fence asks of the lease of this process, and tells it. */
export interface FencedLease {
  readonly epoch: number
  /** A commit has passed as the so-manieth of this database. */
  passed(seq: number): void
  /** A commit was refused: another server may hold the lease. */
  refused(): void
}

export interface Fence {
  statement(): { readonly statement: Sql; readonly params: readonly SqlParam[] }
  passed(rows: readonly Record<string, unknown>[]): void
  refused(): void
}

export const createFence = (lease: FencedLease): Fence => ({
  statement: () => ({ statement: check, params: [lease.epoch] }),
  passed: (rows) => lease.passed(Number(rows[0]?.seq)),
  refused: () => lease.refused(),
})

/** Whether the fence has refused the transaction. */
export const isFencedOff = (error: unknown): boolean =>
  error instanceof PostgresError && error.code === '22P02' && error.message.includes(MARK)
