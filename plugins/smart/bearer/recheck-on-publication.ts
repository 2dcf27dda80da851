/** Rereads the list of changes when the feed publishes that tokens have ended, sooner than the next regular read. */
import { type ChangeFeed, isNote } from '../../database/service.ts'
import type { BearerCallers } from './bearer-callers.ts'

export const recheckOnPublication = (
  feed: Pick<ChangeFeed, 'listen'>,
  { recheck }: Pick<BearerCallers, 'recheck'>,
): void =>
  void feed.listen({
    name: 'revoked tokens',
    commit({ published }) {
      if (published.some((one) => isNote(one) && one.about === 'grant')) recheck()
    },
    gap: recheck,
  })
