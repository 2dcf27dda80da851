/** Metrics for Prometheus at /metrics. Off by default. */
import { definePlugin } from '../../kernel/index.ts'
import { Database } from '../database/service.ts'
import { createMetricsCollector } from './collector.ts'
import { metricsSection } from './config.ts'
import { metricsEndpoint } from './routes.ts'

export default definePlugin({
  name: 'metrics',
  description: 'Shows figures for Prometheus at /metrics',
  config: { metrics: metricsSection },
  uses: [Database],
  enabled: ({ metrics }) => metrics.enabled,
  setup({ hooks, run, routes, optional }) {
    const figures = createMetricsCollector(optional(Database))
    hooks.meter.tap('measure', figures.measure)
    routes(metricsEndpoint(run, figures.text))
    return { start: figures.start }
  },
})
