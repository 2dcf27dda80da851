/** What a server that follows needs of the database. One port is one connection. */
import type { Claimant } from '../lease/lease-port.ts'
import type { FeedPosition } from './change-feed.ts'
import type { FeedLook } from './follow.ts'

export interface FollowLook extends FeedLook {
  /** Changes as long as the server that writes is alive. */
  readonly beat: string
}

/** Every operation fails when the connection is lost, or when there is no answer in time. */
export interface FollowPort {
  /** Calls `notify` with the number of a commit that is on disk, for each notification of the server that writes. */
  listen(notify: (seq: number) => void): Promise<void>
  /** Reads what is behind the place, and no commits where there is none yet. */
  look(at: FeedPosition | undefined): Promise<FollowLook>
  /** Records that this server follows, and how far. */
  attend(self: Claimant, at: FeedPosition | undefined): Promise<void>
  /** Removes what was recorded. */
  dismiss(server: string): Promise<void>
  close(): void
}
