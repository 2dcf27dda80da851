/** The feed of changes on PostgreSQL: of the server that writes, from its commits; of one that follows it, from their rows. */
import { systemClock } from '../../../kernel/index.ts'
import type { Database } from '../contract.ts'
import { startFollower } from '../feed/follower.ts'
import { createReadBehind, type ReadBehind } from '../feed/read-behind.ts'
import { createTrim } from '../feed/trim.ts'
import type { HeldLease } from '../lease/hold-lease.ts'
import { ownProcess } from '../lease/own-process.ts'
import { TIMES } from '../lease/times.ts'
import type { OpenOptions } from '../opening.ts'
import type { Connector } from './client.ts'
import { createFollowSession } from './follow-session.ts'
import { createLookAtChanges } from './look-at-changes.ts'

export interface OpenedFeed {
  /** False where this process follows another one, and does not see any more what it commits. */
  isFollowing(): boolean
  /** Sessions outside the pool. */
  readonly sessions: number
  stop(): Promise<void>
}

export interface OpenFeedParts {
  readonly connector: Connector
  /** Undefined for a process that does not write, or writes beside others. */
  readonly lease: HeldLease | undefined
  readonly database: Pick<Database, 'transact' | 'reading'>
  readonly options: OpenOptions
  readonly signal: AbortSignal | undefined
}

const openPrimary = (
  lease: HeldLease,
  database: OpenFeedParts['database'],
  behind: ReadBehind,
  options: OpenOptions,
): OpenedFeed => {
  const { clock, feed, log } = options
  const { commits } = lease
  feed.open(
    { epoch: lease.epoch, seq: commits.lastPublished },
    { known: () => commits.known, look: async () => undefined, behind },
  )
  const trim = createTrim({ database, clock, seq: () => commits.lastPublished, log })
  return { isFollowing: () => true, sessions: 0, stop: () => trim.stop() }
}

export const openFeed = async (parts: OpenFeedParts): Promise<OpenedFeed> => {
  const { connector, lease, database, options, signal } = parts
  const behind = createReadBehind(createLookAtChanges(database.reading))
  if (lease !== undefined) return openPrimary(lease, database, behind, options)
  if (options.lease.mode !== 'read') return { isFollowing: () => true, sessions: 0, stop: async () => undefined }
  const { feed, random, build, clock, log } = options
  // The time in which another process has to answer is not moved by a test.
  const connect = async (given?: AbortSignal) =>
    createFollowSession({ session: await connector.connect(given), clock: systemClock, answerMs: TIMES.answer })
  const follower = await startFollower(
    { self: ownProcess(random.id(), build), feed, clock, log, connect, behind },
    signal,
  )
  return { isFollowing: () => follower.isFollowing(), sessions: 1, stop: () => follower.stop() }
}
