/**
 * Puts the commits of the server that writes into the order of their numbers. Their answers come on several sessions, so a
 * later one may come first; and a commit is published only when it is on disk, which a later one may bring about. A commit
 * whose connection was lost leaves a hole in the numbers: it is a gap once every commit has ended that could fill it.
 */
import type { FeedCommit, FeedPosition } from './change-feed.ts'
import type { Publication } from './publication.ts'

/** A transaction whose last statement is being sent. Exactly one of the two is called, once. */
export interface SentCommit {
  /** It is committed. `seq` is its number, or that of the last one before where it publishes nothing. */
  passed(seq: number, published: readonly Publication[], isDurable: boolean): void
  /** It is not committed, or the outcome is unknown. */
  failed(): void
}

export interface CommitOrder {
  readonly epoch: number
  /** Number of the newest commit that is known. */
  readonly known: number
  /** All commits up to this number are known to be on disk. */
  readonly onDisk: number
  /** Number of the newest commit that was published. */
  readonly lastPublished: number
  /** This process writes in an epoch that begins behind `seq`. Published commits of an earlier one may be lost. */
  enter(at: FeedPosition): void
  sent(): SentCommit
  /** All commits up to this number are on disk. */
  durable(seq: number): void
  /** The function takes the number in the database, read after this call, which shows commits without an answer. */
  look(): (seq: number) => void
}

export interface CommitOrderOptions {
  readonly publish: (commit: FeedCommit) => void
  readonly gap: (at: FeedPosition) => void
}

export const createCommitOrder = ({ publish, gap }: CommitOrderOptions): CommitOrder => {
  let epoch = 0
  let lastPublished = 0
  let known = 0
  let onDisk = 0
  let tickets = 0
  /** Tickets of the commits under way, in ascending order. */
  const flying = new Set<number>()
  const pending = new Map<number, FeedCommit>()
  /** The newest ticket that could belong to the first number that is missing. */
  let hole: number | undefined
  /** Numbers that the database had, with the newest ticket that could belong to them. */
  let seen: { readonly seq: number; readonly ticket: number } | undefined

  const mayStillCome = (ticket: number): boolean => {
    const [oldest] = flying
    return oldest !== undefined && oldest <= ticket
  }
  const skipTo = (seq: number): void => {
    lastPublished = seq
    known = Math.max(known, seq)
    for (const number of pending.keys()) if (number <= seq) pending.delete(number)
    gap({ epoch, seq })
  }
  const publishNext = (): boolean => {
    const next = lastPublished + 1
    if (next > onDisk) return false
    const commit = pending.get(next)
    if (commit !== undefined) {
      hole = undefined
      pending.delete(next)
      lastPublished = next
      publish(commit)
      return true
    }
    hole ??= tickets
    if (mayStillCome(hole)) return false
    hole = undefined
    skipTo(Math.min(onDisk, ...[...pending.keys()].map((seq) => seq - 1)))
    return true
  }
  const advance = (): void => {
    while (publishNext());
    if (seen === undefined || mayStillCome(seen.ticket)) return
    const { seq } = seen
    seen = undefined
    if (seq > known) skipTo(seq)
  }

  return {
    get epoch() {
      return epoch
    },
    get known() {
      return known
    },
    get onDisk() {
      return onDisk
    },
    get lastPublished() {
      return lastPublished
    },
    enter(at) {
      const isFirst = epoch === 0
      epoch = at.epoch
      lastPublished = at.seq
      known = at.seq
      onDisk = at.seq
      pending.clear()
      hole = undefined
      seen = undefined
      if (!isFirst) gap(at)
    },
    sent() {
      tickets += 1
      const ticket = tickets
      const own = epoch
      flying.add(ticket)
      return {
        passed(seq, published, isDurable) {
          flying.delete(ticket)
          known = Math.max(known, seq)
          // A number up to that of the last published commit belongs to an earlier epoch, or to a gap.
          if (published.length > 0 && seq > lastPublished) pending.set(seq, { epoch: own, seq, published })
          if (isDurable) onDisk = Math.max(onDisk, seq)
          advance()
        },
        failed() {
          flying.delete(ticket)
          advance()
        },
      }
    },
    durable(seq) {
      onDisk = Math.max(onDisk, seq)
      advance()
    },
    look() {
      const ticket = tickets
      return (seq) => {
        if (seq <= known) return
        seen = { seq, ticket: Math.max(ticket, seen?.ticket ?? 0) }
        advance()
      }
    },
  }
}
