/** The writer lease on PostgreSQL: a session advisory lock, and rows, on a session of its own. */
import pg from 'pg'
import type { Clock } from '../../../kernel/index.ts'
import { sql } from '../contract.ts'
import type { Claimant, LeasePort, LeaseRow, MemberRow, Taken } from '../lease/lease-port.ts'
import type { Times } from '../lease/times.ts'
import { askInTime } from './ask-in-time.ts'
import { attend, dismiss } from './member-rows.ts'
import { runSteps } from './run-steps.ts'
import type { Session } from './session.ts'

// Keys of the lock: arbitrary numbers, the same in every build. "rfhr", 1
const LOCK = [0x72666872, 1] as const
const CHANNEL = 'refhir_lease'
/** Its payload is `<epoch>.<seq>` of a commit that is on disk. */
export const CHANGES = 'refhir_change'
const notifyFollowers = sql('feed.notify', `SELECT pg_notify('${CHANGES}', ?)`)
const BLOCKED_MS = 500 // for rows that a transaction of the former holder has locked
const ATTEMPTS = 6
// https://www.postgresql.org/docs/17/errcodes-appendix.html
const LOCK_LATE = '55P03'
const DIVISION_BY_ZERO = '22012' // nothing was updated

const LOOK = `SELECT epoch, server, host, boot, pid, build, beat, released = 1 AS "isReleased" FROM cluster_lease WHERE one = 1`
const TRY = `SELECT to_regclass('cluster_lease') IS NOT NULL AS made, to_regclass('cluster_change') IS NOT NULL AS "hasFeed", CASE WHEN $1 THEN true ELSE pg_try_advisory_lock(${LOCK.join(', ')}) END AS "hasLock"`
const UNLOCK = `SELECT pg_advisory_unlock(${LOCK.join(', ')})`
const EVICT = `SELECT pg_terminate_backend(pid) FROM pg_locks
  WHERE locktype = 'advisory' AND granted AND pid <> pg_backend_pid() AND classid = ${LOCK[0]} AND objid = ${LOCK[1]} AND objsubid = 2
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
/** Whoever has locked the rows: the transaction is the xmax of the version that is seen. */
const EVICT_BLOCKING = `SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a
  WHERE a.pid <> pg_backend_pid() AND a.backend_xid::text IN (SELECT xmax::text FROM cluster_mark UNION ALL SELECT xmax::text FROM cluster_lease)`

const text = (value: string): string => pg.escapeLiteral(value)

/** All that is committed is on disk with an epoch that begins. */
const NEW_EPOCH = ', durable = (SELECT seq FROM cluster_mark WHERE one = 1), at = clock_timestamp()'

/** One transaction: begins an epoch above both rows, or fails with a division by zero where `where` matches nothing. */
const beginEpoch = (self: Claimant, term: string, at: number, where: string, hasFeed: boolean): string => `BEGIN;
SET LOCAL lock_timeout = ${BLOCKED_MS};
SET LOCAL synchronous_commit = on;
WITH held AS (
  UPDATE cluster_lease SET epoch = greatest(epoch, (SELECT epoch FROM cluster_mark WHERE one = 1)) + 1, server = ${text(self.server)},
    host = ${text(self.host)}, boot = ${text(self.boot)}, pid = ${self.pid}, build = ${text(self.build)}, beat = 0, released = 0${hasFeed ? NEW_EPOCH : ''}
  WHERE one = 1 AND ${where} RETURNING epoch
), moved AS (
  UPDATE cluster_mark SET epoch = held.epoch FROM held WHERE one = 1 RETURNING cluster_mark.epoch, cluster_mark.seq
), stored AS (
  INSERT INTO cluster_epoch (epoch, term, first_seq, server, host, pid, build, at)
  SELECT epoch, ${text(term)}, seq + 1, ${text(self.server)}, ${text(self.host)}, ${self.pid}, ${text(self.build)}, ${Math.trunc(at)} FROM moved
)
SELECT max(epoch) AS epoch, max(seq) AS seq, 1 / count(*) AS one FROM moved;
COMMIT`

export interface LeaseSessionOptions {
  readonly session: Session
  readonly clock: Clock
  readonly newTerm: () => string
  readonly times: Pick<Times, 'answer'>
}

export const createLeaseSession = ({ session, clock, newTerm, times }: LeaseSessionOptions): LeasePort => {
  let wake: (() => void) | undefined
  let isListening = false
  /** Whether the database has the tables of the feed, which an earlier build did not make. */
  let hasFeed = false
  /** Whether transactions that do not ask for it no longer wait for the disk, as a NOTIFY would. */
  let isRelaxed = false
  session.on('notification', () => wake?.())

  const run = askInTime(session, clock, times.answer)
  /** Sent up to two hundred times a second: prepared, in one statement. */
  const notify = (payload: string) => runSteps(session, [{ statement: notifyFollowers, params: [payload] }])
  const codeOf = (error: unknown): string => String((error as { code?: unknown }).code)

  const begin = async (self: Claimant, where: string): Promise<Taken | undefined> => {
    for (let attempt = 1; ; attempt += 1)
      try {
        const results = await run(beginEpoch(self, newTerm(), clock.now(), where, hasFeed))
        const row = results.find(({ command }) => command === 'SELECT')?.rows[0]
        return { epoch: Number(row.epoch), seq: Number(row.seq) }
      } catch (error) {
        if (!session.isUsable) throw error
        await run('ROLLBACK')
        if (codeOf(error) === DIVISION_BY_ZERO) return undefined
        if (codeOf(error) !== LOCK_LATE || attempt === ATTEMPTS) throw error
        // Without the right to end sessions the next attempt waits again.
        await run(EVICT_BLOCKING).catch((failure) => {
          if (!session.isUsable) throw failure
        })
      }
  }

  return {
    async look(hasLock) {
      const [tried] = await run(TRY, [hasLock])
      const { made, hasLock: isMine, ...facts } = tried!.rows[0] as Record<'made' | 'hasLock' | 'hasFeed', boolean>
      hasFeed = facts.hasFeed
      if (!made) return { hasLock: isMine, row: undefined }
      const row = (await run(LOOK))[0]!.rows[0] as LeaseRow | undefined
      return {
        hasLock: isMine,
        row: row && { ...row, epoch: Number(row.epoch), beat: Number(row.beat), pid: Number(row.pid) },
      }
    },
    take: (self, { epoch, beat }) => begin(self, `epoch = ${epoch} AND beat = ${beat}`),
    renew: (self, epoch) => begin(self, `epoch = ${epoch} AND server = ${text(self.server)} AND released = 0`),
    async beat(epoch, durable) {
      // The fence is asked as well: a holder whose commits are refused must not go on beating.
      const set = hasFeed ? `, durable = ${durable}, at = clock_timestamp()` : ''
      const [, , updated, mark, members] = await run(
        `BEGIN; SET LOCAL synchronous_commit = off;
UPDATE cluster_lease SET beat = beat + 1${set} WHERE one = 1 AND epoch = ${epoch} AND EXISTS (SELECT FROM cluster_mark WHERE epoch = ${epoch});
SELECT seq FROM cluster_mark WHERE one = 1;${hasFeed ? ' SELECT server, beat FROM cluster_member;' : ''} COMMIT`,
      )
      if (updated?.rowCount !== 1) return undefined
      return { seq: Number(mark?.rows[0]?.seq), members: hasFeed ? (members?.rows as MemberRow[]) : [] }
    },
    async announce(epoch, seq) {
      if (!isRelaxed) await run('SET synchronous_commit = off')
      isRelaxed = true
      await notify(`${epoch}.${seq}`)
    },
    async attend(self) {
      if (hasFeed) await run(attend(self, 'standby'))
    },
    async dismiss(members) {
      if (hasFeed) await run(dismiss(members))
    },
    async unlock() {
      await run(UNLOCK)
    },
    async evict() {
      await run(EVICT).catch((error) => {
        if (!session.isUsable) throw error
      })
    },
    async release(epoch) {
      await run(
        `BEGIN; SET LOCAL synchronous_commit = on; UPDATE cluster_lease SET released = 1 WHERE one = 1 AND epoch = ${epoch}; COMMIT`,
      )
      await run(`${UNLOCK}; NOTIFY ${CHANNEL}`)
    },
    async woken() {
      if (!isListening) await run(`LISTEN ${CHANNEL}`)
      isListening = true
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    },
    close: () => session.destroy(),
  }
}
