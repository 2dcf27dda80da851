/**
 * The trail: events are appended at the end of the transaction they belong to, in one order for all. The head is
 * remembered between transactions. On PostgreSQL another server that appended meanwhile is found out because its rows have
 * the same numbers, and then the head is read again, and locked; on SQLite it is asked for by all it was left with.
 */
import type { Clock, Logger } from '../../../kernel/index.ts'
import type { CommitParticipant, Database, Transaction, TransactOptions } from '../../database/service.ts'
import type { BlockWriter } from '../blocks/block-writer.ts'
import type { KeyRing } from '../chain/key.ts'
import { sealHead } from '../chain/seals.ts'
import { HeadMissing, KeyMismatch, TrailUnavailable } from '../errors.ts'
import type { TrailEvent } from '../event.ts'
import { findHead, type HeadRow, lockHead, updateHeadTime } from '../tables.ts'
import { batchesOf, type UnnumberedRow } from './event-rows.ts'
import { appendRows, type Head, type SealedHead } from './head.ts'

const REMEMBERED_MS = 10_000 // long before another server could prune what this one has not seen
const SHARED_CLOSINGS = 100 // after another server was met, the head is asked for so often

export interface Trail {
  /** Leaves an event for the end of its transaction: both are there, or neither. */
  append(transaction: Transaction, event: TrailEvent): void
  /** Writes events in a transaction of their own; `relaxed` does not wait for the disk. */
  write(events: readonly TrailEvent[], options?: TransactOptions): Promise<void>
  /** Resolves when everything written before is on disk. */
  flush(): Promise<void>
}

export interface TrailParts {
  readonly database: Database
  readonly keys: KeyRing
  readonly blocks: BlockWriter
  readonly clock: Clock
  readonly log: Logger
}

interface Remembered {
  readonly head: SealedHead
  /** On the monotonic clock; nothing more is asked until then. */
  readonly until: number
}

/** One event of a change, or those of a moment. */
type Left = TrailEvent | readonly TrailEvent[]

/** In the order they were left, behind so many events: those of changes that share a COMMIT are of one moment too. */
const rowsBehind = (seq: number, all: readonly Left[]): readonly UnnumberedRow[] => batchesOf(all.flat(), seq)

/** Why is for the log. */
const refuse = (cause: unknown) => TrailUnavailable().with({ cause, headers: { 'retry-after': '1' } })

export const createTrail = ({ database, keys, blocks, clock, log }: TrailParts): Trail => {
  const isShared = database.kind === 'postgres'
  let remembered: Remembered | undefined
  let toAsk = 0
  let next: SealedHead | undefined

  /** Is the head as it was left? On PostgreSQL that is not asked: nobody else is likely to have moved it. */
  const isThere = async (transaction: Transaction, { head, until }: Remembered): Promise<boolean> => {
    if (isShared) return toAsk === 0 && clock.monotonic() < until
    const { chain, seq, mac, count, seal } = head
    return (await transaction.get(findHead, [chain, seq, mac, count, keys.current.id, seal])) !== undefined
  }
  /** And whether it is as this trail left it. */
  const headNow = async (transaction: Transaction): Promise<{ readonly head: Head; readonly isSound: boolean }> => {
    if (remembered !== undefined && (await isThere(transaction, remembered)))
      return { head: remembered.head, isSound: true }
    toAsk = Math.max(0, toAsk - 1)
    const head = await transaction.get<HeadRow>(lockHead, [])
    if (head === undefined) throw refuse(HeadMissing())
    // Another server has changed the key, or this one never had the right one: what it sealed would break the chain.
    if (!keys.current.id.equals(head.key)) throw refuse(KeyMismatch())
    return { head, isSound: sealHead(keys.current, head).equals(head.seal) }
  }

  const participant: CommitParticipant<Left> = {
    async beforeCommit(transaction, events) {
      next = undefined
      const { head, isSound } = await headNow(transaction)
      // Refusing everything would be a gift to whoever did it: it goes on, and says so.
      if (!isSound)
        log.error({ seq: head.seq }, 'the audit trail was changed by somebody else: run server audit verify')
      const alarm: TrailEvent = { at: clock.now(), kind: 'alarm', status: 500 }
      const rows = rowsBehind(head.seq, isSound ? events : [alarm, ...events])
      next = await appendRows(transaction, keys.current, head, rows)
      await blocks.add(transaction, rows)
    },
    finished(committed) {
      if (committed && next !== undefined) blocks.committed(next.seq)
      else blocks.rolledBack()
      if (!committed && remembered !== undefined) toAsk = SHARED_CLOSINGS
      remembered =
        committed && next !== undefined ? { head: next, until: clock.monotonic() + REMEMBERED_MS } : undefined
    },
    refuse,
  }

  return {
    append: (transaction, event) => transaction.beforeCommit(participant, event),
    write: (events, options) =>
      database.transact((transaction) => {
        transaction.beforeCommit(participant, events)
      }, options),
    flush: () => database.transact((transaction) => transaction.run(updateHeadTime, [])),
  }
}
