/**
 * The writer lease in the hands of its holder: beats, and the end of it. Nobody is demoted inside a process: who finds
 * another holder has lost the lease for good.
 */
import { every, type Logger, type Repeating } from '../../../kernel/index.ts'
import { createAnnouncer } from '../feed/announcer.ts'
import type { FeedPosition } from '../feed/change-feed.ts'
import type { CommitOrder } from '../feed/commit-order.ts'
import { createMemberWatch } from '../feed/member-watch.ts'
import type { LeasePort, Taken } from './lease-port.ts'
import type { LeaseParts, WonLease } from './take-lease.ts'

const RETRY_MS = 200

export interface HeldLease {
  /** 0 until the first epoch of a new database has begun. */
  readonly epoch: number
  readonly commits: CommitOrder
  /** Whether other servers read what commits publish; true until that is known. */
  readonly hasFollowers: boolean
  /** Commits up to this place are on disk and were published here: followers may publish them as well. */
  announce(at: FeedPosition): void
  /** Whether no other process can have taken the lease. */
  isValid(): boolean
  /** `isValid`, and no commit of this process can be lost meanwhile: the connection that beats was not lost. */
  isSole(): boolean
  /** Begins the first epoch, once the tables are there. */
  begin(): Promise<void>
  /** A commit was refused: looks whether the epoch is over. */
  refused(): void
  /** Gives the lease to whoever waits. Nothing may be written after this. */
  release(): Promise<void>
}

/** Published commits are on disk, so only an operator who restores the database takes their numbers back. */
const isRestored = (seq: number, published: number, log: Logger): boolean => {
  if (seq >= published) return false
  log.error({ seq, published }, 'the database was restored to an earlier state under this server')
  return true
}

/** `onLost` is called once, when another process has taken the lease. */
export const holdLease = (parts: LeaseParts, won: WonLease, commits: CommitOrder, onLost: () => void): HeldLease => {
  const { connect, self, tenure, clock, times, log } = parts
  const findGone = createMemberWatch()
  let port: LeasePort | undefined = won.port
  let { hasLock } = won
  let epoch = 0
  let hasFollowers = true
  let state: 'held' | 'lost' | 'released' = 'held'
  let isAway = false

  const enter = (taken: Taken): void => {
    epoch = taken.epoch
    commits.enter(taken)
  }
  const announcer = createAnnouncer(clock, async (at) => port?.announce(at.epoch, at.seq))
  const lose = (): void => {
    if (state !== 'held') return
    state = 'lost'
    port?.close()
    onLost()
  }
  /** A new connection has to show that the epoch is still ours; it is a new epoch, as commits may have been lost. */
  const reconnect = async (): Promise<void> => {
    const fresh = await connect()
    hasLock = false
    const sent = tenure.now()
    try {
      const taken = await fresh.renew(self, epoch)
      if (taken === undefined || isRestored(taken.seq, commits.lastPublished, log)) {
        fresh.close()
        return lose()
      }
      enter(taken)
      tenure.confirm(sent)
    } catch (error) {
      fresh.close()
      throw error
    }
    port = fresh
    log.info({ epoch }, 'holding the writer lease again')
  }
  const beat = async (): Promise<void> => {
    if (state !== 'held' || epoch === 0) return
    try {
      if (port === undefined) await reconnect()
      else {
        const sent = tenure.now()
        const compare = commits.look()
        const { lastPublished } = commits
        const sight = await port.beat(epoch, lastPublished)
        if (sight === undefined || isRestored(sight.seq, lastPublished, log)) return lose()
        tenure.confirm(sent)
        compare(sight.seq)
        hasFollowers = sight.members.length > 0
        const gone = findGone(sight.members, sent.monotonic).map(({ server }) => server)
        if (gone.length > 0)
          await port
            .dismiss(gone)
            .catch((error) => log.debug({ err: error }, 'servers that are gone could not be removed'))
      }
      // The lock was lost with the connection; a taker that has it gives it back when it sees a beat.
      if (port !== undefined && !hasLock) ({ hasLock } = await port.look(false))
      isAway = false
    } catch (error) {
      log[isAway ? 'debug' : 'warn']({ err: error }, 'the writer lease cannot be confirmed')
      isAway = true
      port?.close()
      port = undefined
      // Sooner than the next beat, so that a short outage ends before the last confirmed beat is too old.
      clock.deadline(RETRY_MS).addEventListener('abort', () => void beats.now().catch(() => undefined))
    }
  }
  const beats: Repeating = every(clock, times.beat, beat, () => undefined)

  if (won.taken !== undefined) {
    enter(won.taken)
    tenure.confirm(won.sent)
  }
  return {
    get epoch() {
      return epoch
    },
    commits,
    get hasFollowers() {
      return hasFollowers
    },
    announce(at) {
      if (hasFollowers && state === 'held') announcer.announce(at)
    },
    isValid: () => state === 'held' && tenure.isValid(),
    isSole: () => state === 'held' && port !== undefined && epoch > 0 && tenure.isValid(),
    async begin() {
      // Migration may have made tables.
      await won.port.look(hasLock)
      if (epoch !== 0) return
      const sent = tenure.now()
      const taken = await won.port.take(self, { epoch: 0, beat: 0 })
      if (taken === undefined) throw new Error('another process began the first epoch')
      enter(taken)
      tenure.confirm(sent)
    },
    refused: () => void beats.now().catch(() => undefined),
    async release() {
      const wasHeld = state === 'held'
      if (wasHeld) state = 'released'
      await beats.stop()
      try {
        if (wasHeld && epoch > 0) await port?.release(epoch)
      } catch (error) {
        log.debug({ err: error }, 'the writer lease could not be released')
      }
      port?.close()
    },
  }
}
