/** Settings of the metrics for Prometheus. */
import { Type } from '../../kernel/index.ts'

export const metricsSection = Type.Object({
  enabled: Type.Boolean({ default: false, description: 'Shows figures for Prometheus at /metrics.' }),
})
