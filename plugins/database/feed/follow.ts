/**
 * What one look into the database shows to a server that does not write. It has no I/O and no clock: a simulation drives the
 * same code.
 */
import type { FeedCommit, FeedPosition } from './change-feed.ts'
import { decodePublications } from './publication.ts'

export interface EpochRow {
  readonly epoch: number
  /** Random text: distinguishes two epochs with one number, after the database was restored. */
  readonly term: string
  readonly firstSeq: number
}

/** Rows of one snapshot of the database. */
export interface FeedLook {
  /** The state of the database. */
  readonly mark: FeedPosition
  /** All commits up to this number are on disk. A later one may be seen and still be lost. */
  readonly durable: number
  /** Epochs from that of the place or the state on, whichever is less, in ascending order. */
  readonly epochs: readonly EpochRow[]
  /** Commits behind the place, in ascending order: all of them, or the first ones. */
  readonly rows: readonly (FeedPosition & { readonly body: string })[]
  /** Whether there may be more rows. */
  readonly hasMore: boolean
}

/** How far a server has followed. */
export interface Followed extends FeedPosition {
  readonly term: string
}

export interface Step {
  readonly at: Followed
  /** True where commits were missed or lost. Listeners are to be notified of that first. */
  readonly isGap: boolean
  readonly commits: readonly FeedCommit[]
  /** Whether another look would show more that may be published. */
  readonly hasMore: boolean
}

/** Where a server begins that has followed nothing yet, and one that has to begin anew: all that is on disk. */
const begin = ({ mark, durable, epochs }: FeedLook): Followed => ({
  epoch: mark.epoch,
  term: epochs.find(({ epoch }) => epoch === mark.epoch)?.term ?? '',
  seq: Math.min(durable, mark.seq),
})

/** The epochs behind the place in which the database went on from it. Undefined where it did not. */
const laterEpochs = (at: Followed, { mark, epochs }: FeedLook): readonly EpochRow[] | undefined => {
  const own = epochs.find(({ epoch }) => epoch === at.epoch)
  if (own?.term !== at.term) return undefined
  const later = epochs.filter(({ epoch }) => epoch > at.epoch)
  // The epoch ended before the commit that was delivered last, so the commits after its end were lost.
  if (mark.seq < at.seq || later.some(({ firstSeq }) => firstSeq <= at.seq)) return undefined
  return later
}

/** `at` is undefined before the first look. Only what is on disk is published. */
export const follow = (at: Followed | undefined, look: FeedLook): Step => {
  if (at === undefined) return { at: begin(look), isGap: false, commits: [], hasMore: false }
  const anew: Step = { at: begin(look), isGap: true, commits: [], hasMore: false }
  const later = laterEpochs(at, look)
  if (later === undefined) return anew
  const until = Math.min(look.durable, look.mark.seq)
  let { epoch, term, seq } = at
  /** Continues in the epoch that begins with the next commit; an epoch may have no commits, so there may be several. */
  const enter = (): void => {
    for (const one of later) if (one.epoch > epoch && one.firstSeq === seq + 1) ({ epoch, term } = one)
  }
  const commits: FeedCommit[] = []
  enter()
  for (const row of look.rows) {
    if (row.seq > until) break
    if (row.seq !== seq + 1 || row.epoch !== epoch) return anew
    try {
      commits.push({ epoch, seq: row.seq, published: decodePublications(row.body) })
    } catch {
      return anew
    }
    seq = row.seq
    enter()
  }
  // Commits that are on disk and have no row: there was no follower when they were made, or the row was removed.
  if (seq < until && !look.hasMore) return anew
  return { at: { epoch, term, seq }, isGap: false, commits, hasMore: seq < until }
}
