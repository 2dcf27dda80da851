/**
 * Follows the server that writes: looks for commits when it is notified of some, and every half second in case a
 * notification was lost, and publishes them to the feed.
 */
import { type Clock, every, type Logger } from '../../../kernel/index.ts'
import type { Claimant } from '../lease/lease-port.ts'
import type { FeedPosition } from './change-feed.ts'
import type { FeedHub } from './feed-hub.ts'
import { type Followed, follow } from './follow.ts'
import type { FollowPort } from './follow-port.ts'
import { createFreshRuns } from './fresh-runs.ts'
import type { ReadBehind } from './read-behind.ts'

const POLL_MS = 500
const ATTEND_MS = 1_000
const RETRY_MS = 200
// Longer than any takeover, in milliseconds.
const SILENT_MS = 20_000
const BLIND_MS = 5_000

export interface Follower {
  /** False where the database was not seen for 5 seconds, or no sign of a server that writes for 20. */
  isFollowing(): boolean
  stop(): Promise<void>
}

export interface FollowerParts {
  /** Opens a port, a new connection. */
  readonly connect: (signal?: AbortSignal) => Promise<FollowPort>
  readonly self: Claimant
  readonly feed: Pick<FeedHub, 'open' | 'commit' | 'gap' | 'enter'>
  readonly clock: Clock
  readonly log: Logger
  readonly behind?: ReadBehind | undefined
}

/** Resolves after the first look; all later commits are published. Rejects where that look fails. */
export const startFollower = async (parts: FollowerParts, signal?: AbortSignal): Promise<Follower> => {
  const { connect, self, feed, clock, log, behind } = parts
  let port: FollowPort | undefined
  let at: Followed | undefined
  /** Numbers up to this one are on disk, whatever the database had recorded of that. */
  let onDisk = 0
  let known = 0
  let isAway = false
  /**
   * The connection was lost, which may have been a crash of the database: other sessions of this process may have read
   * commits that were not on disk and are lost, though none of them was published.
   */
  let wasCut = false
  let attendedAt = Number.NEGATIVE_INFINITY
  let lookedAt = 0
  let beat = { value: '', since: 0 }

  const open = async (given?: AbortSignal): Promise<FollowPort> => {
    const fresh = await connect(given)
    try {
      await fresh.listen((seq) => {
        onDisk = Math.max(onDisk, seq)
        looks.soon()
      })
    } catch (error) {
      fresh.close()
      throw error
    }
    return fresh
  }
  /** Looks once and publishes what it finds. True where there is more to read. */
  const lookOnce = async (current: FollowPort): Promise<boolean> => {
    const begun = clock.monotonic()
    const look = await current.look(at)
    if (look.beat !== beat.value) beat = { value: look.beat, since: begun }
    lookedAt = begun
    known = look.mark.seq
    const step = follow(at, { ...look, durable: Math.max(look.durable, Math.min(onDisk, look.mark.seq)) })
    const before = at
    at = step.at
    // What was known to be on disk may be lost with the rest.
    if (step.isGap) onDisk = 0
    if (before === undefined) feed.open(at, { known: () => known, look: lookNow, behind, isFollowing })
    else if (step.isGap || wasCut) {
      log.info({ ...at }, 'changes of the primary may have been missed: everything kept is looked up again')
      feed.gap(step.isGap ? at : before)
    }
    wasCut = false
    for (const commit of step.commits) feed.commit(commit)
    if (at.epoch > Math.max(before?.epoch ?? 0, step.commits.at(-1)?.epoch ?? 0)) feed.enter(at)
    return step.hasMore
  }
  const attend = async (current: FollowPort): Promise<void> => {
    const now = clock.monotonic()
    if (now - attendedAt < ATTEND_MS) return
    attendedAt = now
    await current.attend(self, at)
  }
  const lookAll = async (): Promise<void> => {
    try {
      port ??= await open(at === undefined ? signal : undefined)
      // From here on commits have rows, so the first look misses none.
      if (at === undefined) await attend(port)
      while (await lookOnce(port));
      await attend(port)
      isAway = false
    } catch (error) {
      log[isAway ? 'debug' : 'warn']({ err: error }, 'the changes of the primary cannot be read')
      isAway = true
      port?.close()
      port = undefined
      wasCut = true
      clock.deadline(RETRY_MS).addEventListener('abort', () => looks.soon(), { once: true })
      throw error
    }
  }

  const isFollowing = (): boolean => {
    const now = clock.monotonic()
    return now - lookedAt < BLIND_MS && now - beat.since < SILENT_MS
  }
  const looks = createFreshRuns(lookAll)
  const lookNow = (reach: FeedPosition | undefined): Promise<void> => {
    if (reach !== undefined) onDisk = Math.max(onDisk, reach.seq)
    return looks.fresh()
  }

  try {
    await looks.fresh()
  } catch (error) {
    await looks.stop()
    throw error
  }
  const polls = every(clock, POLL_MS, looks.fresh, () => undefined)
  return {
    isFollowing,
    async stop() {
      await polls.stop()
      await looks.stop()
      await port?.dismiss(self.server).catch(() => undefined)
      port?.close()
    },
  }
}
