/** What a server keeps of what it has read, in a simulation, and the feed that reports when that is wrong. */
import type { Logger } from '../../kernel/index.ts'
import { createFeedHub } from '../../plugins/database/feed/feed-hub.ts'
import { isNote } from '../../plugins/database/feed/publication.ts'
import type { FeedDatabase } from './feed-database.ts'

/** One fault each, planted to see that the rules find it. */
export const FEED_FAULTS = [
  'acknowledges early',
  'announces early',
  'ignores gaps',
  'looks at no token',
  'stays after a cut',
  'follows what is not on disk',
  'sees no missing row',
  'compares no terms',
] as const
export type FeedFault = (typeof FEED_FAULTS)[number]

export const createKeeper = (database: FeedDatabase, planted: FeedFault | undefined, log: Logger) => {
  const hub = createFeedHub(log)
  const kept = new Map<number, number>()
  hub.feed.listen({
    name: 'kept',
    commit({ published }) {
      for (const one of published) if (!isNote(one)) kept.delete(one.rid)
    },
    gap() {
      if (planted !== 'ignores gaps') kept.clear()
    },
  })
  return {
    ...{ hub, kept },
    read(key: number): number {
      const version = kept.get(key) ?? database.versionAt(key)
      kept.set(key, version)
      return version
    },
    /** Keys whose kept version is older than the place, or not the right one where that has to be. */
    wrong(isExact: boolean): readonly number[] {
      const { status } = hub.feed
      if (status === undefined) return []
      return [...kept.keys()].filter((key) => {
        const version = kept.get(key) as number
        const now = database.versionAt(key, Math.min(status.seq, database.log.length))
        if (isExact) return version !== now
        // Behind an epoch in which the database crashed nothing is kept of what was lost.
        return version < now || (status.epoch > database.state.crashed && version > database.versionAt(key))
      })
    },
  }
}
export type Keeper = ReturnType<typeof createKeeper>
