/** Positions in the sequence of changes of the database. A position is immediately after one change. */
import { createHash } from 'node:crypto'

/** A position within one history of the database. */
export interface Spot {
  /** Number of the commit. */
  readonly seq: number
  /** How many of the changes that the commit published are before the position; WHOLE for all of them. */
  readonly within: number
}

/** A position that can be sent to a client. The epoch is in it because a number means nothing in another history. */
export interface Place extends Spot {
  readonly epoch: number
  /** `termMarkOf` the random text of the epoch. */
  readonly term: string
}

export const WHOLE = 0xffffffff

export const isBehind = (one: Spot, other: Spot): boolean =>
  one.seq > other.seq || (one.seq === other.seq && one.within > other.within)

/** 16 hexadecimal digits. */
export const termMarkOf = (term: string): string => createHash('sha256').update(term).digest('hex').slice(0, 16)
