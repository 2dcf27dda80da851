/** One structured log line per request, and the recent requests at /_requests. */
import { addLines, definePlugin } from '../../kernel/index.ts'
import { Database } from '../database/service.ts'
import { requestLogSection } from './config.ts'
import { createLines } from './lines.ts'
import { createRecorder } from './recorder.ts'
import { requestsEndpoint } from './routes.ts'
import { RequestLog } from './service.ts'
import { createSlowest } from './slowest.ts'
import { requestLogMigrations } from './tables.ts'

export default definePlugin({
  name: 'request-log',
  description: 'Logs one line per request, and keeps recent requests',
  config: { request_log: requestLogSection },
  needs: { database: Database },
  provides: [RequestLog],
  migrations: requestLogMigrations,
  enabled: ({ request_log }) => request_log.enabled,
  setup({ config: { request_log: config }, hooks, run, routes, provide, needs: { database }, clock, log }) {
    if (log.isLevelEnabled('info')) {
      const { add, take } = createLines(clock)
      const announce = addLines(log, take)
      hooks.meter.tap('log', (usage) => announce(add(usage)))
    }
    if (!config.store) {
      provide(RequestLog, { stored: undefined })
      return
    }
    const recorder = createRecorder({
      database,
      clock,
      log,
      retentionHours: config.retention_hours,
      refusedPerSecond: config.refused_per_second,
    })
    hooks.meter.tap('store', recorder.record)
    provide(RequestLog, { stored: { flush: recorder.flush, slowest: createSlowest(database) } })
    routes(requestsEndpoint({ database, run, flush: recorder.flush }))
    return { start: recorder.start, stop: recorder.stop }
  },
})
