/** Settings of the metrics for Prometheus. */
import { Type } from 'typebox'

export const metricsSection = Type.Object({
  enabled: Type.Boolean({ default: false, description: 'Shows figures for Prometheus at /metrics.' }),
})
