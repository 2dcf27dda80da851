/** Publishes the commits of a SQLite database to its feed. They are counted in memory, as only this process makes them. */
import type { FeedHub } from '../feed/feed-hub.ts'
import type { Publication } from '../feed/publication.ts'
import type { FinishedTransaction } from './group-commit.ts'

/** `epoch`: the number of this start. The function takes the transactions of each COMMIT, in their order. */
export const createPublishToFeed = (hub: FeedHub, epoch: number): ((done: readonly FinishedTransaction[]) => void) => {
  let seq = 0
  hub.open({ epoch, seq }, { known: () => seq, look: async () => undefined })
  return (done) => {
    const published: Publication[] = []
    for (const one of done) published.push(...one.published)
    if (published.length === 0) return
    seq += 1
    hub.commit({ epoch, seq, published })
  }
}
