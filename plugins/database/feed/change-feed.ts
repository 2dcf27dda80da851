/**
 * The feed of changes: what every commit has published, on every server of the database, in the order of commits. Caches
 * and live queries follow it.
 */
import { defineService } from '../../../kernel/index.ts'
import type { Publication } from './publication.ts'

/** A place in the order of commits: all commits up to `seq` of an epoch, and those of earlier epochs. */
export interface FeedPosition {
  /** Counts the times that a server became primary. */
  readonly epoch: number
  /** Counts commits that published something; goes on through all epochs. */
  readonly seq: number
}

/** A place that means the same to every process: the epoch is named by its random text as well. */
export interface LastingPosition extends FeedPosition {
  /** As `readEpoch` gives it. */
  readonly term: string
}

/** One COMMIT, which may have been that of several transactions. Its place is the one right behind it. */
export interface FeedCommit extends FeedPosition {
  readonly published: readonly Publication[]
}

export interface FeedListener {
  /** For the log. */
  readonly name: string
  /** Called for each commit once it is on disk, in the order of `seq`, without a number left out. It must not wait. */
  commit(commit: FeedCommit): void
  /**
   * Commits up to this place were missed, or published ones are lost: everything cached may be wrong. Later commits are
   * published again.
   */
  gap(at: FeedPosition): void
}

export interface FeedStatus extends FeedPosition {
  /** Commits that this server knows of and has not published to its listeners yet. */
  readonly lag: number
}

export interface ChangeFeed {
  /**
   * True where each commit of every server is published to the listeners. False before the start, and for a process that
   * writes beside others without the writer lease: then cached data has to be read again after a while.
   */
  readonly isComplete: boolean
  /**
   * False where another server writes and is not followed any more: nothing of the database was seen for 5 seconds, or no
   * sign of life of that server for 20.
   */
  readonly isFollowing: boolean
  /** The last commit that was published to the listeners. Undefined before the start. */
  readonly status: FeedStatus | undefined
  /**
   * Adds a listener, which gets the commits behind `status`. Where the feed is to complete a page, call this before the
   * page is read. The function that is returned removes the listener.
   */
  listen(listener: FeedListener): () => void
  /**
   * Looks into the database once, and resolves when all that it had on disk was published to the listeners; at once on the
   * server that writes. `reach`: a place that is known to be on disk, such as one that a client sent. Rejects where the
   * database does not answer.
   */
  look(reach?: FeedPosition): Promise<void>
  /**
   * Reads the commits behind a place from their rows, in the order of `seq`, up to the number `until`, which was published.
   * Undefined where one of them has no row, where there are more than `most`, or where the place was lost; always where
   * nothing is stored of commits. Rejects where the database does not answer.
   */
  behind(at: LastingPosition, until: number, most: number): Promise<readonly FeedCommit[] | undefined>
  /** Resolves when `status` has changed, or when the signal aborts. */
  changed(signal: AbortSignal): Promise<void>
}

export const ChangeFeed = defineService<ChangeFeed>('cluster.feed')
