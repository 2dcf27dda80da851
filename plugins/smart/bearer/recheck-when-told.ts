/** Lets the feed tell this server that another one has ended tokens, sooner than the next look at the list of changes. */
import { type ChangeFeed, isNote } from '../../database/service.ts'
import type { BearerCallers } from './bearer-callers.ts'

export const recheckWhenTold = (feed: Pick<ChangeFeed, 'listen'>, { recheck }: Pick<BearerCallers, 'recheck'>): void =>
  void feed.listen({
    name: 'revoked tokens',
    commit({ published }) {
      if (published.some((one) => isNote(one) && one.about === 'grant')) recheck()
    },
    gap: recheck,
  })
