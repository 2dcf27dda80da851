/**
 * The last statement before each COMMIT of the writer, in the same round trip: it fails where this process does not hold
 * the lease any more. A commit that publishes something is counted, and where other servers follow, what it publishes is
 * stored under its number. An UPDATE, because takeover changes the same row: either it waits for this transaction, or this
 * statement waits for it and then fails. `FOR KEY SHARE` would let takeover pass, and `FOR SHARE` would make a multixact
 * for each commit. It is the last lock of a transaction, so no deadlock involves it, and numbers are in the order of
 * commits.
 */
import { type Sql, type SqlParam, sql } from '../contract.ts'
import type { CommitOrder } from '../feed/commit-order.ts'
import { encodePublications, type Publication } from '../feed/publication.ts'
import { PostgresError } from './server-error.ts'

const MARK = 'writer lease lost'

// PostgreSQL cannot read this text as a number, and repeats it in its error. A division by zero would look like one of
// another statement. `count` keeps it from being evaluated while planning.
const fence = (name: string, seq: string, more = ''): Sql =>
  sql(
    name,
    `WITH moved AS (UPDATE cluster_mark SET seq = ${seq} WHERE one = 1 AND epoch = ? RETURNING epoch, seq)${more}
   SELECT max(seq) AS seq, CASE WHEN count(*) = 1 THEN 0 ELSE CAST(concat('${MARK} ', count(*)) AS integer) END AS lost FROM moved`,
  )
const check = fence('fence', 'seq')
const count = fence('fence-count', 'seq + 1')
const publish = fence(
  'fence-publish',
  'seq + 1',
  ', stored AS (INSERT INTO cluster_change (seq, epoch, body) SELECT seq, epoch, CAST(? AS bytea) FROM moved)',
)

/** What the fence reads of the lease of this process, and reports to it. */
export interface FencedLease {
  readonly epoch: number
  /** Whether other servers read what commits publish. */
  readonly hasFollowers: boolean
  readonly commits: CommitOrder
  /** A commit was refused: another server may hold the lease. */
  refused(): void
}

/** The fence of one transaction. Exactly one of the two functions is called, once. */
export interface Closing {
  readonly statement: Sql
  readonly params: readonly SqlParam[]
  /** Committed. `rows`: those of the statement. `isDurable`: on disk. */
  passed(rows: readonly Record<string, unknown>[], isDurable: boolean): void
  /** Not committed, or the outcome is unknown. */
  failed(error: unknown): void
}

export interface Fence {
  /** To be called right before the statement is sent. */
  close(published: readonly Publication[]): Closing
  /** To be called before everything committed is flushed to disk; the function that it returns, after that. */
  flushing(): () => void
}

export const createFence = (lease: FencedLease): Fence => {
  const statementFor = (published: readonly Publication[]): Pick<Closing, 'statement' | 'params'> => {
    if (published.length === 0) return { statement: check, params: [lease.epoch] }
    if (!lease.hasFollowers) return { statement: count, params: [lease.epoch] }
    return { statement: publish, params: [lease.epoch, encodePublications(published)] }
  }
  return {
    close(published) {
      const sent = lease.commits.sent()
      return {
        ...statementFor(published),
        passed: (rows, isDurable) => sent.passed(Number(rows[0]?.seq), published, isDurable),
        failed(error) {
          sent.failed()
          if (isFencedOff(error)) lease.refused()
        },
      }
    },
    flushing() {
      const { known } = lease.commits
      return () => lease.commits.durable(known)
    },
  }
}

/** Whether the fence has refused the transaction. */
export const isFencedOff = (error: unknown): boolean =>
  error instanceof PostgresError && error.code === '22P02' && error.message.includes(MARK)
