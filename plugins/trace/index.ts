/** Says what the server did for a request that asks for it. Off by default. Spec: [features] trace_engine. */
import { BUILD, definePlugin } from '../../kernel/index.ts'
import { Database } from '../database/service.ts'
import { Searches } from '../search/service.ts'
import { Terminology } from '../terminology/service.ts'
import { Validator } from '../validation/service.ts'
import { traceFeature } from './config.ts'
import * as errors from './errors.ts'
import { createKeptTraces } from './kept-traces.ts'
import { createOpenTraces } from './open-traces.ts'
import { traceEndpoint } from './routes.ts'
import type { SpanSender } from './send-spans.ts'
import { timeTaps } from './time-taps.ts'
import type { Trace } from './trace.ts'
import { traceRequests } from './trace-requests.ts'
import { tracedDatabase } from './traced-database.ts'
import { tracedTerminology, tracedValidator } from './traced-services.ts'

export default definePlugin({
  name: 'trace',
  description: 'Says what the server did for a request, at /_trace/[id]',
  config: { features: traceFeature },
  errors,
  enabled: ({ features }) => features.trace_engine,
  setup({ hooks, run, routes, decorate, watchTaps, clock, random, config: { features } }) {
    const traces = createOpenTraces()
    const kept = createKeptTraces()
    watchTaps(timeTaps(traces, 'trace'))
    decorate(Database, (database) => tracedDatabase(database, traces))
    decorate(Validator, (validator) => tracedValidator(validator, traces))
    decorate(Terminology, (terminology) => tracedTerminology(terminology, traces))
    decorate(Searches, (searches) => {
      searches.watchPlans((plans) => {
        for (const plan of plans) traces.current()?.note('plan', { ...plan })
      })
      return searches
    })
    const { otlp_endpoint: endpoint } = features
    let sender: SpanSender | undefined
    const send = endpoint === undefined ? undefined : (trace: Trace) => sender?.send(trace)
    traceRequests({ hooks, run, traces, kept, clock, random, send })
    routes(traceEndpoint(run, kept))
    return {
      async start() {
        if (endpoint !== undefined) sender = await (await import('./send-spans.ts')).openSpanSender(endpoint, BUILD)
      },
      stop: async () => sender?.stop(),
    }
  },
})
