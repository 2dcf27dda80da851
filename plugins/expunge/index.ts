/** $expunge: erases what was stored, for the right to be forgotten. */
import { definePlugin } from '../../kernel/index.ts'
import { Database } from '../database/service.ts'
import { Fhir, Resources } from '../fhir/service.ts'
import { createPollLimit, Jobs } from '../jobs/service.ts'
import { Model } from '../model/service.ts'
import { Searches } from '../search/service.ts'
import { Storage } from '../storage/service.ts'
import { expungeSection } from './config.ts'
import * as errors from './errors.ts'
import { EXPUNGE_KIND, expungeOperation } from './operation.ts'
import { expungeRoutes } from './routes.ts'
import { createRunExpunge } from './run-expunge.ts'

export default definePlugin({
  name: 'expunge',
  description: 'Erases resources with all their versions: $expunge',
  config: { expunge: expungeSection },
  needs: {
    database: Database,
    storage: Storage,
    searches: Searches,
    model: Model,
    fhir: Fhir,
    resources: Resources,
    jobs: Jobs,
  },
  errors,
  commands: { expunge: async () => (await import('./commands/expunge.ts')).default },
  setup({ config: { expunge }, needs, run, request, routes, clock, random, serves }) {
    const { database, jobs, fhir } = needs
    jobs.add({ kind: EXPUNGE_KIND, run: createRunExpunge({ ...needs, run, request }) })
    fhir.operation(expungeOperation({ ...needs, random, allowsAnonymous: expunge.anonymous }))
    routes(expungeRoutes({ jobs, polls: createPollLimit(clock), run, clock }))
    let close: (() => Promise<void>) | undefined
    return {
      async start() {
        if (serves && !database.isReader) close = jobs.open(EXPUNGE_KIND)
      },
      stop: async () => close?.(),
    }
  },
})
