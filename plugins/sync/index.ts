/** Live queries: the matches of a search, and what happens to them from then on. Spec: /sync. */
import { definePlugin } from '../../kernel/index.ts'
import { ChangeFeed, Database } from '../database/service.ts'
import { Resources } from '../fhir/service.ts'
import { Limits } from '../limits/service.ts'
import { Searches } from '../search/service.ts'
import * as errors from './errors.ts'
import { createFeedChanges } from './feed-changes.ts'
import { createLiveQueries } from './live-queries.ts'
import { createOwnCommits } from './own-commits.ts'
import { syncRoutes } from './routes.ts'

export default definePlugin({
  name: 'sync',
  description: 'Live queries over a WebSocket or Server-Sent Events at /sync',
  needs: { database: Database, feed: ChangeFeed, resources: Resources, searches: Searches },
  uses: [Limits],
  errors,
  setup(host) {
    const { hooks, run, routes, identify, request, optional, refusal, clock, random, log } = host
    const { database, feed, resources, searches } = host.needs
    const internal = resources.as({ kind: 'internal', purpose: 'sync' })
    const own = createOwnCommits(hooks, random)
    const isShared = database.kind === 'postgres'
    const live = createLiveQueries({
      ...{ resources, internal, searches, refusal, clock, log },
      limits: optional(Limits),
      ownUrl: () => request({ caller: { kind: 'internal' }, purpose: 'sync' }).ownUrl,
      source: isShared ? createFeedChanges({ feed, database, hooks, internal, own, log }) : own,
    })
    routes(syncRoutes({ identify, run, log, open: live.open, connection: live.connection }))
    return {
      // What is committed between a takeover and the return of a client may have no rows.
      start: async () => (isShared ? live.listen() : undefined),
      handOver: live.handOver,
      stop: live.stop,
    }
  },
})
