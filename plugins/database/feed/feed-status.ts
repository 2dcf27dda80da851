/** The part of the database's status that tells how far the feed is; nothing before it begins. */
import type { DatabaseStatus } from '../contract.ts'
import type { FeedHub } from './feed-hub.ts'

export const feedStatus = ({ feed: { status } }: FeedHub): Pick<DatabaseStatus, 'feed'> =>
  status === undefined ? {} : { feed: status }
