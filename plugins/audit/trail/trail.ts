/**
 * The audit trail: events are appended at the end of their transaction, in one order for all. The head is cached
 * between transactions. On PostgreSQL another server may have appended meanwhile: then the insert fails because its
 * rows have the same numbers, and the head is read again with a lock. On SQLite each transaction checks that the head
 * still has the cached values.
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
import { type Attempt, createLostAttempts } from './lost-attempts.ts'

// milliseconds; shorter than the time after which another server could have pruned rows that this one has not seen
const REMEMBERED_MS = 10_000
const SHARED_CLOSINGS = 100 // transactions that read the head with a lock after another server has appended

export interface Trail {
  /** Registers an event for the end of its transaction: both are committed, or neither. */
  append(transaction: Transaction, event: TrailEvent): void
  /** Writes events in a transaction of their own; with `asynchronousCommit` it does not wait for the disk. */
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
  /** Milliseconds on the monotonic clock until which the cached head is used. */
  readonly until: number
}

/**
 * Events that are written together, apart from changes, and the newest attempt to do so. It is not in a WeakMap by the events:
 * V8 takes the values of a WeakMap for alive until it collects the whole heap, and the row of an attempt holds all events.
 */
interface EventGroup {
  readonly events: readonly TrailEvent[]
  attempt: Attempt | undefined
}

/** One event of a change, or a group of other events. */
type Left = TrailEvent | EventGroup

/**
 * Rows that follow event number `seq`, in the order of registration. Changes that share a COMMIT also share batches.
 */
const rowsBehind = (seq: number, all: readonly Left[]): readonly UnnumberedRow[] => {
  const events: TrailEvent[] = []
  for (const one of all)
    if (isGroup(one)) for (const event of one.events) events.push(event)
    else events.push(one)
  return batchesOf(events, seq)
}

const isGroup = (one: Left): one is EventGroup => 'events' in one

/** The cause is for the log only. */
const refuse = (cause: unknown) => TrailUnavailable().with({ cause, headers: { 'retry-after': '1' } })

export const createTrail = ({ database, keys, blocks, clock, log }: TrailParts): Trail => {
  const isShared = database.kind === 'postgres'
  let remembered: Remembered | undefined
  let toAsk = 0
  let next: SealedHead | undefined
  const lost = createLostAttempts()

  /**
   * Whether the head still has the cached values. Not queried on PostgreSQL, where a conflict shows when the rows are
   * inserted.
   */
  const isThere = async (transaction: Transaction, { head, until }: Remembered): Promise<boolean> => {
    if (isShared) return toAsk === 0 && clock.monotonic() < until
    const { chain, seq, mac, count, seal } = head
    return (await transaction.get(findHead, [chain, seq, mac, count, keys.current.id, seal])) !== undefined
  }
  /** The current head, and whether its seal is valid. */
  const headNow = async (transaction: Transaction): Promise<{ readonly head: Head; readonly isSound: boolean }> => {
    if (remembered !== undefined && (await isThere(transaction, remembered)))
      return { head: remembered.head, isSound: true }
    toAsk = Math.max(0, toAsk - 1)
    const head = await transaction.get<HeadRow>(lockHead, [])
    if (head === undefined) throw refuse(HeadMissing())
    // Another server has changed the key, or this one was configured with a wrong one: rows sealed with it would break
    // the chain.
    if (!keys.current.id.equals(head.key)) throw refuse(KeyMismatch())
    return { head, isSound: sealHead(keys.current, head).equals(head.seal) }
  }

  /** Leaves out events that an earlier attempt has written. */
  const withoutWritten = async (transaction: Transaction, events: readonly Left[]): Promise<readonly Left[]> => {
    const left: Left[] = []
    for (const one of events) {
      if (isGroup(one)) left.push(...(await lost.missing(transaction, one.events)))
      else left.push(one)
    }
    return left
  }

  const participant: CommitParticipant<Left> = {
    async beforeCommit(transaction, events) {
      next = undefined
      const { head, isSound } = await headNow(transaction)
      // The trail is continued and the damage is reported: refusing all changes would let an attacker stop the server.
      if (!isSound)
        log.error({ seq: head.seq }, 'the audit trail was changed by somebody else: run server audit verify')
      const alarm: TrailEvent = { at: clock.now(), kind: 'alarm', status: 500 }
      const left = lost.isEmpty ? events : await withoutWritten(transaction, events)
      const rows = rowsBehind(head.seq, isSound ? left : [alarm, ...left])
      next = await appendRows(transaction, keys.current, head, rows)
      const last = rows.at(-1)
      if (last !== undefined) for (const one of events) if (isGroup(one)) one.attempt = last
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
    async write(events, options) {
      const group: EventGroup = { events, attempt: undefined }
      try {
        await database.transact((transaction) => transaction.beforeCommit(participant, group), options)
        lost.forget(events)
      } catch (error) {
        if (group.attempt !== undefined) lost.add(events, group.attempt)
        throw error
      }
    },
    flush: () => database.transact((transaction) => transaction.run(updateHeadTime, [])),
  }
}
