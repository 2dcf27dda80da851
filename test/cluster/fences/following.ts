/** The fences of a replica: what it does not answer when it does not follow the primary, or not this database. */
import type { Fence } from './fence.ts'

export const FOLLOWING_FENCES: readonly Fence[] = [
  {
    name: 'a replica that does not follow refuses requests',
    file: 'plugins/cluster/index.ts',
    check: 'gate(() => (feed.isFollowing ? undefined : errors.NotFollowing()))',
    planted: 'gate(() => undefined)',
    test: 'test/server/cluster/not-following.test.ts',
  },
  {
    name: 'a replica says on /readyz that it does not follow',
    file: 'plugins/database/database-plugin.ts',
    check: 'async () => late.opened?.isFollowing() ?? true)',
    planted: 'async () => true)',
    test: 'test/server/cluster/not-following.test.ts',
  },
  {
    name: 'a replica follows only while a primary gives signs of life',
    file: 'plugins/database/feed/follower.ts',
    check: 'return now - lookedAt < BLIND_MS && now - beat.since < SILENT_MS',
    planted: 'return now - lookedAt < BLIND_MS',
    test: 'test/server/cluster/not-following.test.ts',
  },
  {
    name: 'a replica follows only while it can look for changes',
    file: 'plugins/database/feed/follower.ts',
    check: 'return now - lookedAt < BLIND_MS && now - beat.since < SILENT_MS',
    planted: 'return now - beat.since < SILENT_MS',
    test: 'test/server/cluster/not-following.test.ts',
  },
  {
    name: 'the feed reports that it does not follow',
    file: 'plugins/database/feed/feed-hub.ts',
    check: 'return source !== undefined && source.isFollowing?.() !== false',
    planted: 'return source !== undefined',
    test: 'test/server/cluster/not-following.test.ts',
  },
  {
    name: 'a replica ends when the database was restored',
    file: 'plugins/cluster/follow/follow-primary.ts',
    check: 'if (epoch < before.epoch || then !== before.term) {',
    planted: 'if (false as boolean) {',
    test: 'test/server/cluster/database-faults.test.ts',
  },
  {
    name: 'a replica answers nothing from the schema of a newer build',
    file: 'plugins/database/database-plugin.ts',
    check: 'gate(() => (late.opened?.isOutgrown() === true ? errors.SchemaOutgrown() : undefined))',
    planted: 'gate(() => undefined)',
    test: 'test/server/cluster/replica.test.ts',
  },
]
