/**
 * What a replica knows of the server that writes: its epoch, its last commit, and that it is alive. It reads that from the
 * database, twice a second and when a client asks for a newer state.
 *
 * Here a feed of changes plugs in: whatever learns of a commit earlier than the next look calls `look`, or passes what it
 * has learnt to `take`. Everything that a replica keeps in memory and that may change is corrected by looks of its own:
 * search parameters (plugins/search/index/backfill/backfill-worker.ts), packages (plugins/model/watch-packages.ts),
 * expansions (plugins/terminology/find.ts), tokens (plugins/smart/tokens/access-changes.ts).
 */
import { type Clock, every, type Logger, type Repeating } from '../../../kernel/index.ts'
import { type Database, type Mark, readMark } from '../../database/service.ts'
import { createKnownEpochs } from '../snapshot/known-epochs.ts'
import type { SnapshotSource } from '../snapshot/snapshot-source.ts'

const LOOK_MS = 500
const SOON_MS = 20 // between two looks while somebody waits for a newer state
const SILENT_MS = 5_000 // without a look
const LIFELESS_MS = 20_000 // without a beat of the primary: longer than any takeover

export interface FollowParts {
  readonly database: Database
  readonly clock: Clock
  readonly log: Logger
  /** Called once: the database has gone back to an earlier epoch, or to another one of that number. */
  readonly onOther: () => void
}

export interface Follow extends SnapshotSource {
  start(): Promise<void>
  stop(): Promise<void>
  /** False where answers may be older than anything that is promised. Asked for each request. */
  isFollowing(): boolean
}

const isOther = (known: Mark, found: Mark): boolean =>
  found.epoch < known.epoch || (found.epoch === known.epoch && found.term !== known.term)

export const createFollow = ({ database, clock, log, onOther }: FollowParts): Follow => {
  const waiting = new Set<() => void>()
  let known: Mark | undefined
  let asked = 0
  let taken = 0
  let lookedAt = Number.NEGATIVE_INFINITY
  let aliveAt = Number.NEGATIVE_INFINITY
  let isSoon = false
  let repeating: Repeating | undefined

  const current = () => (known === undefined || known.epoch === 0 ? undefined : known)
  const epochs = createKnownEpochs(database, () => current()?.epoch)

  const take = (mark: Mark, sentAt: number): void => {
    lookedAt = sentAt
    if (known !== undefined && isOther(known, mark)) {
      onOther()
      return
    }
    const isMoved = known?.epoch !== mark.epoch || known.seq !== mark.seq
    if (known?.epoch !== mark.epoch || known.beat !== mark.beat) aliveAt = sentAt
    known = mark
    if (mark.term !== undefined) epochs.learn(mark.epoch, mark.term)
    if (isMoved) for (const tell of [...waiting]) tell()
  }
  const look = async (): Promise<void> => {
    asked += 1
    const number = asked
    const sentAt = clock.monotonic()
    const mark = await readMark(database)
    // One that was sent earlier may come back later.
    if (number < taken) return
    taken = number
    take(mark, sentAt)
  }
  const lookSoon = (): void => {
    if (isSoon || waiting.size === 0) return
    isSoon = true
    clock.deadline(SOON_MS).addEventListener('abort', () => {
      isSoon = false
      if (waiting.size > 0)
        void look()
          .catch(() => undefined)
          .finally(lookSoon)
    })
  }

  return {
    get current() {
      return current()
    },
    epochOf: epochs.of,
    look,
    changed: (signal) =>
      new Promise((resolve) => {
        const tell = (): void => {
          waiting.delete(tell)
          signal.removeEventListener('abort', tell)
          resolve()
        }
        if (signal.aborted) return resolve()
        waiting.add(tell)
        signal.addEventListener('abort', tell, { once: true })
        lookSoon()
      }),
    isFollowing() {
      const now = clock.monotonic()
      return now - lookedAt <= SILENT_MS && now - aliveAt <= LIFELESS_MS
    },
    async start() {
      await look()
      const onError = (error: unknown): void => log.debug({ err: error }, 'the primary cannot be followed')
      repeating = every(clock, LOOK_MS, look, onError)
    },
    stop: async () => repeating?.stop(),
  }
}
