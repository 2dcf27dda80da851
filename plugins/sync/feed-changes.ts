/** The changes of all servers of the database, in the order of commits, as the feed publishes them. */
import type { Hooks, Logger } from '../../kernel/index.ts'
import type { ChangeFeed, Database } from '../database/service.ts'
import type { SessionReads } from '../fhir/service.ts'
import type { ChangeListener, ChangeSource } from './change-source.ts'
import { createChangedVersions } from './changed-versions.ts'
import { createFeedListening, type FeedListening } from './feed-listening.ts'
import { createKnownTerms } from './known-terms.ts'

export interface FeedChangesParts {
  readonly feed: ChangeFeed
  readonly database: Pick<Database, 'get'>
  readonly hooks: Pick<Hooks, 'onCommit'>
  /** Of the server itself. */
  readonly internal: Pick<SessionReads, 'read'>
  /** For a server whose changes the feed does not publish, because it writes beside others without the writer lease. */
  readonly own: ChangeSource
  readonly log: Logger
}

export const createFeedChanges = ({ feed, database, hooks, internal, own, log }: FeedChangesParts): ChangeSource => {
  let current: { readonly listener: ChangeListener; readonly listening: FeedListening } | undefined
  const terms = createKnownTerms(database)
  const versions = createChangedVersions(hooks, internal, () => current?.listener.wants)
  feed.listen({
    name: 'live queries',
    commit: (commit) => current?.listening.commit(commit),
    gap() {
      terms.clear()
      current?.listener.gap()
    },
  })
  return {
    listen(listener) {
      const { status } = feed
      if (status === undefined) return own.listen(listener)
      const onStop = (): void => {
        if (current?.listener !== listener) return
        current = undefined
        versions.clear()
      }
      const listening = createFeedListening({ feed, database, terms, versions, listener, status, onStop, log })
      current = { listener, listening }
      return listening
    },
  }
}
