/** Live queries: the matches of a search, and what happens to them from then on. Spec: /sync. */
import { definePlugin } from '../../kernel/index.ts'
import { Database } from '../database/service.ts'
import { Resources } from '../fhir/service.ts'
import { Limits } from '../limits/service.ts'
import { Searches } from '../search/service.ts'
import * as errors from './errors.ts'
import { createLiveQueries } from './live-queries.ts'
import { createOwnCommits } from './own-commits.ts'
import { syncRoutes } from './routes.ts'

export default definePlugin({
  name: 'sync',
  description: 'Live queries over a WebSocket or Server-Sent Events at /sync',
  needs: { database: Database, resources: Resources, searches: Searches },
  uses: [Limits],
  errors,
  setup(host) {
    const { hooks, run, routes, identify, request, optional, refusal, clock, random, log } = host
    const { database, resources, searches } = host.needs
    const live = createLiveQueries({
      ...{ resources, searches, refusal, clock, log },
      limits: optional(Limits),
      ownUrl: () => request({ caller: { kind: 'internal' }, purpose: 'sync' }).ownUrl,
      source: createOwnCommits(hooks, random),
    })
    const { isReader } = database
    routes(syncRoutes({ identify, run, log, isReader, open: live.open, connection: live.connection }))
    return { handOver: live.handOver, stop: live.stop }
  },
})
