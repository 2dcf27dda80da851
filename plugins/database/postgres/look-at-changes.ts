/** Reads the rows of the feed of changes on PostgreSQL, on sessions of the pool. `follow-session.ts` has one of its own. */
import type { Database } from '../contract.ts'
import type { FeedPosition } from '../feed/change-feed.ts'
import type { FeedLook } from '../feed/follow.ts'
import { readEpochs, readMark, readRows, toLook } from './feed-rows.ts'

export const createLookAtChanges =
  (reading: Database['reading']): ((at: FeedPosition) => Promise<FeedLook>) =>
  ({ epoch, seq }) =>
    reading(async (transaction) =>
      toLook(
        await transaction.all(readMark, []),
        await transaction.all(readEpochs, [epoch]),
        await transaction.all(readRows, [seq]),
      ),
    )
