/** Settings of the metrics for Prometheus. */
import { Type } from '../../kernel/index.ts'

export const metricsSection = Type.Object({
  enabled: Type.Boolean({
    default: false,
    env: 'SERVER_METRICS',
    description: 'Shows figures for Prometheus at /metrics.',
  }),
})
