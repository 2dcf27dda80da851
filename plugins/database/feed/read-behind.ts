/** Reads from the rows of the feed what was committed behind a place, for whoever was away. */
import type { FeedCommit, FeedPosition, LastingPosition } from './change-feed.ts'
import { type FeedLook, type Followed, follow } from './follow.ts'

/**
 * `until`: number of the last commit that is wanted, which is on disk. Undefined where a row is missing, the place was
 * lost, or there are more than `most` commits.
 */
export type ReadBehind = (
  from: LastingPosition,
  until: number,
  most: number,
) => Promise<readonly FeedCommit[] | undefined>

export const createReadBehind =
  (look: (at: FeedPosition) => Promise<FeedLook>): ReadBehind =>
  async (from, until, most) => {
    const found: FeedCommit[] = []
    for (let at: Followed = from; ; ) {
      const step = follow(at, { ...(await look(at)), durable: until })
      if (step.isGap) return undefined
      found.push(...step.commits)
      if (found.length > most) return undefined
      if (!step.hasMore) return found
      at = step.at
    }
  }
