/** The position of the feed, as part of the database's status; nothing before the feed begins. */
import type { DatabaseStatus } from '../contract.ts'
import type { FeedHub } from './feed-hub.ts'

export const feedStatus = ({ feed: { status } }: FeedHub): Pick<DatabaseStatus, 'feed'> =>
  status === undefined ? {} : { feed: status }
