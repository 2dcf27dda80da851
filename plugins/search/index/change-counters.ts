/**
 * Invalidates cached search pages. A cached page is valid as long as nothing was written under the index key that its
 * search started from. Each write counts for all keys of the resource, of the versions before and after it, changed
 * or not: a resource that is on such a page, or would now be on it, has that key.
 *
 * On SQLite a search is over before the next COMMIT. The counters increase after COMMIT and before the write is answered,
 * so a page that was read earlier no longer matches them.
 *
 * On PostgreSQL searches and commits overlap. A write marks its keys inside its transaction, which increases the counters,
 * and the marks end when it is known how the transaction ended: a page is cached only where none of its keys was marked
 * from before its search until after it. plugins/storage/cache/change-marks.ts explains why that suffices.
 *
 * Keys share counters by hash. A collision can only invalidate a page that is still right; it never makes an outdated
 * one valid.
 */
import type { Transaction } from '../../database/service.ts'
import { createChangeMarks, type GapSource, type StoredVersion } from '../../storage/service.ts'
import { addKeys, COUNTERS } from './counter-keys.ts'
import type { IndexEntries } from './index-entries.ts'

export interface ChangeCounters {
  /** Remembers the rows of a resource, before or after the change that makes `version`. */
  record(version: StoredVersion, rows: IndexEntries): void
  /** Does the same with keys that `addKeys` has computed. */
  recordKeys(version: StoredVersion, keys: readonly number[]): void
  /** Called inside the transaction, when all rows of the change are recorded. */
  recorded(transaction: Transaction, version: StoredVersion): void
  /** Called after COMMIT. */
  committed(versions: readonly StoredVersion[]): void
  /**
   * To be called before a search whose page depends on these keys: what `isUnchanged` needs. Undefined where its page must
   * not be cached.
   */
  look(keys: readonly number[]): number | undefined
  /** Whether nothing under the keys has changed since `look`. */
  isUnchanged(keys: readonly number[], look: number): boolean
  /** Whether cached pages may be shown: no other process can have changed anything. */
  isSole(): boolean
}

const recording: Pick<ChangeCounters, 'record' | 'recordKeys'> = {
  record(version, rows) {
    version.keys ??= []
    addKeys(rows, version.keys)
  },
  recordKeys(version, keys) {
    version.keys = version.keys === undefined ? [...keys] : version.keys.concat(keys)
  },
}

/** For SQLite, where changes and searches follow one another. */
export const createChangeCounters = (): ChangeCounters => {
  const marks = createChangeMarks(0, COUNTERS)
  return {
    ...recording,
    recorded: () => undefined,
    committed(versions) {
      for (const version of versions) {
        const { keys } = version
        if (keys === undefined) continue
        for (let at = 0; at < keys.length; at += 1) marks.count(keys[at] as number)
        version.keys = undefined
      }
    },
    look: marks.look,
    isUnchanged: marks.isUnchanged,
    isSole: () => true,
  }
}

/** For PostgreSQL, where changes overlap with searches, and other servers may take over. */
export const createOverlappingCounters = (isSole: () => boolean, feed: GapSource): ChangeCounters => {
  const marks = createChangeMarks(feed.status?.epoch ?? 0, COUNTERS)
  feed.listen({ name: 'pages in memory', commit: () => undefined, gap: ({ epoch }) => marks.forget(epoch) })
  return {
    ...recording,
    recorded(transaction, version) {
      const { keys } = version
      if (keys === undefined) return
      version.keys = undefined
      // Called first, because it throws where the transaction has ended, and marks would stay.
      transaction.afterEnd((outcome) => {
        for (let at = 0; at < keys.length; at += 1) {
          if (outcome === 'unknown') marks.lose(keys[at] as number)
          else marks.end(keys[at] as number)
        }
      })
      for (let at = 0; at < keys.length; at += 1) marks.begin(keys[at] as number)
    },
    committed: () => undefined,
    look: (keys) => (isSole() ? marks.look(keys) : undefined),
    isUnchanged: marks.isUnchanged,
    isSole,
  }
}
