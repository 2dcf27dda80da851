/** Usage per client, UTC day and class of request: counted in memory, stored in the database, shown at /_usage. */
import { definePlugin } from '../../kernel/index.ts'
import { Database } from '../database/service.ts'
import { meteringSection } from './config.ts'
import { createCounters } from './counters.ts'
import { createFlusher } from './flusher.ts'
import { usageEndpoint } from './routes.ts'
import { Metering } from './service.ts'
import { meteringMigrations } from './tables.ts'
import { createUsageTotals } from './usage-totals.ts'

export default definePlugin({
  name: 'metering',
  description: 'Counts requests and bytes per client, UTC day and class of request',
  config: { metering: meteringSection },
  needs: { database: Database },
  provides: [Metering],
  migrations: meteringMigrations,
  enabled: ({ metering }) => metering.enabled,
  setup({ hooks, run, routes, provide, needs: { database }, clock, log }) {
    const counters = createCounters()
    const keeper = createFlusher({ database, counters, clock, log })
    hooks.meter.tap('count', counters.count)
    provide(Metering, { flush: keeper.flush, totals: createUsageTotals(database) })
    routes(usageEndpoint({ database, run, flush: keeper.flush }))
    return { start: keeper.start, stop: keeper.stop }
  },
})
