/** Until when definitions that were looked up are used again without another look. */
import type { Clock } from '../../kernel/index.ts'
import type { ChangeFeed } from '../database/service.ts'

const KEPT_MS = 30_000

export interface Freshness {
  /** The time of a look, in milliseconds. */
  now(): number
  /** Whether what was looked up then may still be used. */
  holds(at: number): boolean
}

/**
 * As long as the feed delivers every change of every server, `forget` ends their use. Otherwise another server
 * may have stored a new version, and after 30 seconds they are looked up again.
 */
export const createFreshness = (clock: Clock, feed: Pick<ChangeFeed, 'isComplete'>): Freshness => ({
  now: () => clock.now(),
  holds: (at) => feed.isComplete || clock.now() - at < KEPT_MS,
})
