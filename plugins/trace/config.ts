/** The settings of the trace engine. Spec: [features]. */
import { Type } from '../../kernel/index.ts'

export const traceFeature = Type.Object({
  trace_engine: Type.Boolean({
    default: false,
    flag: 'trace-engine',
    description:
      'Says what the server did for a request that asks with X-Trace: 1, at /_trace/[id], to callers who may see everything.',
  }),
  otlp_endpoint: Type.Optional(
    Type.String({
      pattern: '^https?://[^\\s]+$',
      allowed: 'an http or https URL',
      env: ['SERVER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'],
      sample: 'http://127.0.0.1:4318',
      description:
        'Where the trace engine sends all requests as OpenTelemetry spans: a collector that takes OTLP over HTTP, below whose URL /v1/traces is. Without trace_engine nothing is sent.',
    }),
  ),
})
