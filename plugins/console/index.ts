/** Pages for operators at /_console. Off by default. */
import { definePlugin } from '../../kernel/index.ts'
import { Trail } from '../audit/service.ts'
import { Cluster } from '../cluster/service.ts'
import { Database } from '../database/service.ts'
import { Jobs } from '../jobs/service.ts'
import { Metering } from '../metering/service.ts'
import { Model } from '../model/service.ts'
import { RequestLog } from '../request-log/service.ts'
import { Searches } from '../search/service.ts'
import { consoleSection } from './config.ts'
import { createResourceCounts } from './resource-counts.ts'
import { consoleRoutes } from './routes.ts'
import { createServerFacts } from './server-facts.ts'

export default definePlugin({
  name: 'console',
  description: 'Shows status, audit trail, usage, jobs and slow requests to operators: /_console',
  config: { console: consoleSection },
  needs: { database: Database, searches: Searches, model: Model },
  uses: [Cluster, Jobs, Metering, RequestLog, Trail],
  enabled: ({ console }) => console.enabled,
  setup({ needs: { database, searches, model }, optional, routes, run, state, clock, log, memory }) {
    const countTypes = (signal: AbortSignal) => searches.opened.countTypes(signal)
    const facts = createServerFacts({ database, cluster: optional(Cluster), state, clock, memory })
    routes(
      consoleRoutes({
        run,
        clock,
        facts,
        counts: createResourceCounts({ countTypes, clock, log }),
        types: () => [...model.catalog.types.keys()],
        jobs: optional(Jobs),
        metering: optional(Metering),
        requests: optional(RequestLog)?.stored,
        trail: optional(Trail),
      }),
    )
    return { start: facts.start }
  },
})
