/**
 * The source of X-Snapshot on the server that writes: it counts its commits itself. A number stands for commits that are on
 * disk: a replica publishes all commits up to a number that a client brings, and what a crash takes back must not be published.
 */
import type { Database } from '../../database/service.ts'
import { createKnownEpochs } from './known-epochs.ts'
import type { SnapshotSource } from './snapshot-source.ts'

export interface OwnCommits extends SnapshotSource {
  /** Reads the current epoch, so that the answer to the first change can name it. */
  start(): Promise<void>
}

export const createOwnCommits = (database: Database): OwnCommits => {
  const current = () => database.status().lease
  const epochs = createKnownEpochs(database, () => current()?.epoch)
  return {
    get current() {
      return current()
    },
    epochOf: epochs.of,
    // No other server commits, so it knows the newest state.
    look: async () => undefined,
    changed: (signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true })),
    async start() {
      const own = current()
      if (own !== undefined) await epochs.of(own.epoch)
    },
  }
}
