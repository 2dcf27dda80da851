/**
 * Follows the server that writes: its epoch and its last commit, as the feed of changes publishes them, and whether the
 * database is still the one that this server has started on.
 */
import type { Clock, Logger } from '../../../kernel/index.ts'
import { type ChangeFeed, createFreshRuns, type Database, readEpoch } from '../../database/service.ts'
import { createKnownEpochs } from '../snapshot/known-epochs.ts'
import type { SnapshotSource } from '../snapshot/snapshot-source.ts'

const RETRY_MS = 500 // where the database does not answer

export interface FollowParts {
  readonly database: Database
  readonly feed: ChangeFeed
  readonly clock: Clock
  readonly log: Logger
  /** Called once: the database was restored to an earlier epoch, or has another epoch of that number. */
  readonly onOther: () => void
}

export interface Follow extends SnapshotSource {
  start(): Promise<void>
  stop(): Promise<void>
}

export const createFollow = ({ database, feed, clock, log, onOther }: FollowParts): Follow => {
  const epochs = createKnownEpochs(database, () => feed.status?.epoch)
  /** The newest epoch that was seen. */
  let known: { readonly epoch: number; readonly term: string } | undefined

  const compare = async (): Promise<void> => {
    const epoch = feed.status?.epoch
    if (epoch === undefined) return
    const term = (await readEpoch(database, epoch))?.term
    const before = known
    if (before !== undefined) {
      const then = epoch === before.epoch ? term : (await readEpoch(database, before.epoch))?.term
      if (epoch < before.epoch || then !== before.term) {
        known = undefined
        return onOther()
      }
    }
    if (term !== undefined) known = { epoch, term }
    // Caches the epoch, so that the answer to the next request can name it.
    await epochs.of(epoch)
  }
  const runs = createFreshRuns(async () => {
    try {
      await compare()
    } catch (error) {
      log.debug({ err: error }, 'the epoch of the primary cannot be read')
      clock.deadline(RETRY_MS).addEventListener('abort', () => runs.soon(), { once: true })
      throw error
    }
  })
  feed.listen({
    name: 'the primary',
    commit({ epoch }) {
      if (known !== undefined && epoch !== known.epoch) runs.soon()
    },
    gap: () => runs.soon(),
  })

  return {
    get current() {
      const { status } = feed
      return status === undefined || status.epoch === 0 ? undefined : status
    },
    epochOf: epochs.of,
    look: feed.look,
    changed: feed.changed,
    start: () => runs.fresh(),
    stop: () => runs.stop(),
  }
}
