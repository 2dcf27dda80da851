/** One listening to the feed: what commits name is given on with its content, in their order, some at once. */
import type { Logger } from '../../kernel/index.ts'
import {
  type ChangeFeed,
  type Database,
  type FeedCommit,
  type FeedStatus,
  isNote,
  type ResourceChange,
  readMark,
} from '../database/service.ts'
import { type Change, type ChangeListener, type HeardChange, type Listening, PACKAGES } from './change-source.ts'
import type { ChangedVersions } from './changed-versions.ts'
import type { KnownTerms } from './known-terms.ts'
import { isBehind, type Place, type Spot, WHOLE } from './place.ts'

const MAX_COMMITS = 20_000 // read from their rows for a client that was away; of more, pages are faster
const AT_ONCE = 100 // changes whose versions are read at a time
const MAX_WAITING = 100_000 // changes whose versions are not read yet; more of them are a gap

export interface FeedListening extends Listening {
  commit(commit: FeedCommit): void
}

export interface FeedListeningParts {
  readonly feed: ChangeFeed
  readonly database: Pick<Database, 'get'>
  readonly terms: KnownTerms
  readonly versions: ChangedVersions
  readonly listener: ChangeListener
  /** Of the feed when the listening begins. */
  readonly status: FeedStatus
  readonly onStop: () => void
  readonly log: Logger
}

interface Waiting {
  readonly epoch: number
  readonly spot: Spot
  readonly change: ResourceChange
}

const spotIn = ({ seq, published }: FeedCommit, at: number): Spot => ({
  seq,
  within: at + 1 === published.length ? WHOLE : at + 1,
})
const heardOf = (commit: FeedCommit): readonly HeardChange[] =>
  commit.published.flatMap((one, at): readonly HeardChange[] => {
    const spot = spotIn(commit, at)
    if (!isNote(one)) return [{ spot, type: one.type, id: one.id, version: one.version }]
    return one.about === 'packages' ? [{ spot, type: PACKAGES, id: '', version: 1 }] : []
  })

export const createFeedListening = (parts: FeedListeningParts): FeedListening => {
  const { feed, database, terms, versions, listener, status, onStop, log } = parts
  const over = new AbortController()
  const { signal } = over
  const from: Spot = { seq: status.seq, within: WHOLE }
  let start: Place | undefined
  let waiting: Waiting[] = []
  let heard = 0
  let given = 0
  let isWorking = false
  let reached: { readonly count: number; readonly resolve: () => void }[] = []

  const wake = (): void => {
    const done = reached.filter(({ count }) => count <= given || signal.aborted)
    reached = reached.filter((one) => !done.includes(one))
    for (const { resolve } of done) resolve()
  }
  const toChange = async ({ epoch, spot, change }: Waiting): Promise<Change> => {
    const { type } = change
    const place = await terms.placeOf(epoch, spot)
    return { place, type, versions: listener.wants(type) ? await versions.of(change) : undefined }
  }
  const work = async (): Promise<void> => {
    // Lets onCommit be called first for changes of this process.
    await new Promise(setImmediate)
    while (waiting.length > 0) {
      const some = waiting.slice(0, AT_ONCE)
      waiting = waiting.slice(AT_ONCE)
      const changes = await Promise.all(some.map(toChange))
      if (signal.aborted) return
      listener.changed(changes)
      given += changes.length
      wake()
    }
    isWorking = false
  }
  const begin = (): void => {
    isWorking = true
    work().catch((error: unknown) => {
      if (signal.aborted) return
      log.warn({ err: error }, 'changes could not be read; live queries are reset')
      listener.gap()
    })
  }
  /** Resolves when every commit that is visible now was published, which happens when it is on disk. */
  const heardAll = async (): Promise<void> => {
    const { seq } = await readMark(database)
    const isLate = (): boolean => !signal.aborted && (feed.status?.seq ?? seq) < seq
    if (isLate()) await feed.look()
    while (isLate()) await feed.changed(signal)
  }
  return {
    from,
    get start() {
      return start
    },
    commit(commit) {
      listener.heard(heardOf(commit))
      commit.published.forEach((one, at) => {
        if (isNote(one)) return
        waiting.push({ epoch: commit.epoch, spot: spotIn(commit, at), change: one })
        heard += 1
      })
      if (waiting.length > MAX_WAITING) listener.gap()
      else if (waiting.length > 0 && !isWorking) begin()
    },
    async settled() {
      start ??= await terms.placeOf(status.epoch, from)
      await heardAll()
      if (given >= heard || signal.aborted) return
      const count = heard
      await new Promise<void>((resolve) => {
        reached.push({ count, resolve })
      })
    },
    async holds(place) {
      const { epoch, seq } = place
      const isReached = (): boolean => seq <= (feed.status?.seq ?? 0)
      if (!(await terms.has(place, feed.status?.epoch ?? 0))) return false
      // Another server may have sent the place to a client before this one has read it.
      if (!isReached()) await feed.look({ epoch, seq })
      return isReached()
    },
    async behind(place, until) {
      const { epoch, within } = place
      const seq = within === WHOLE ? place.seq : place.seq - 1
      const commits = await feed.behind({ epoch, term: await terms.of(epoch), seq }, until.seq, MAX_COMMITS)
      return commits?.flatMap(heardOf).filter(({ spot }) => isBehind(spot, place))
    },
    stop() {
      onStop()
      over.abort()
      waiting = []
      wake()
    },
  }
}
