/** What the writer lease needs of a database. One port is one connection; whoever holds the lock holds it there. */

/** Who takes the lease. */
export interface Claimant {
  /** Unique for each start of a process. */
  readonly server: string
  readonly host: string
  /** Changes with each start of the machine or container; empty where that is unknown. */
  readonly boot: string
  readonly pid: number
  readonly build: string
}

/** The lease as it is recorded. */
export interface LeaseRow extends Claimant {
  readonly epoch: number
  /** Counted up by the holder, once a second. */
  readonly beat: number
  readonly isReleased: boolean
}

export interface Sight {
  /** Whether this connection holds the lock. */
  readonly hasLock: boolean
  /** Undefined in a database that has no tables yet. */
  readonly row: LeaseRow | undefined
}

export interface Taken {
  readonly epoch: number
  /** Commits until now that published something. */
  readonly seq: number
}

/** A server that follows the holder, as it records itself. */
export interface MemberRow {
  readonly server: string
  /** Counted up by the member. */
  readonly beat: number
}

/** What the holder finds when it beats. */
export interface BeatSight {
  /** Commits until now that published something. */
  readonly seq: number
  readonly members: readonly MemberRow[]
}

/** Every operation fails when the connection is lost, or when there is no answer in time. */
export interface LeasePort {
  /** Reads the row and, unless this connection holds the lock, tries to take it. */
  look(hasLock: boolean): Promise<Sight>
  /**
   * Begins a new epoch, durably, if the row still has this epoch and beat. Undefined when it has not. Ends transactions
   * that are in its way.
   */
  take(self: Claimant, seen: Pick<LeaseRow, 'epoch' | 'beat'>): Promise<Taken | undefined>
  /** The same for the holder after it has lost its connection, whatever its beat. */
  renew(self: Claimant, epoch: number): Promise<Taken | undefined>
  /** Records as well that all commits up to `durable` are on disk. Undefined when the epoch is over. */
  beat(epoch: number, durable: number): Promise<BeatSight | undefined>
  /** Notifies servers that follow that commits up to `seq` are on disk. */
  announce(epoch: number, seq: number): Promise<void>
  /** Records that this server waits for the lease; does nothing in a database that has no table for it yet. */
  attend(self: Claimant): Promise<void>
  /** Removes the rows of servers that are gone, or of this one. */
  dismiss(members: readonly string[]): Promise<void>
  /** Gives the lock back. */
  unlock(): Promise<void>
  /** Ends the connection that holds the lock, where that is allowed. */
  evict(): Promise<void>
  /** Records that the holder is gone, gives the lock back and wakes those that wait. */
  release(epoch: number): Promise<void>
  /** Resolves when a holder has released the lease since the last call. */
  woken(): Promise<void>
  close(): void
}
