/**
 * Sends traces as OpenTelemetry spans: one of kind server for the request, below the span that its traceparent names
 * (https://www.w3.org/TR/trace-context/), and one below that for each step. The SDK is loaded here only, where an endpoint is set.
 */
import type { Attributes, AttributeValue, HrTime } from '@opentelemetry/api'
import type { Trace } from './trace.ts'

const SEND_MS = 2_000 // a stop waits so long for a collector that does not answer
const MAX_WAITING = 8_192 // spans; further ones are dropped by the SDK

export interface SpanSender {
  /** Waits for nothing; what the collector does not take is dropped. */
  send(trace: Trace): void
  /** Sends what waits. */
  stop(): Promise<void>
}

/** Seconds and nanoseconds of milliseconds since the epoch. */
const hrTime = (ms: number): HrTime => {
  const seconds = Math.floor(ms / 1000)
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)]
}

const toValue = (value: unknown): AttributeValue =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : JSON.stringify(value)

const toAttributes = (details: object): Attributes =>
  Object.fromEntries(Object.entries(details).map(([name, value]) => [`refhir.${name}`, toValue(value)]))

/** Such as `tap authorize smart`, `statement fhir.read`. */
const nameOf = (kind: string, { hook, plugin, statement, interaction, type, step }: Record<string, unknown>): string =>
  [kind, hook, plugin, statement, interaction, step, type].filter((one) => typeof one === 'string').join(' ')

/** `endpoint`: a URL to which `/v1/traces` is added. */
export const openSpanSender = async (endpoint: string, version: string): Promise<SpanSender> => {
  const [api, { W3CTraceContextPropagator }, { resourceFromAttributes }, sdk, { OTLPTraceExporter }] =
    await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/core'),
      import('@opentelemetry/resources'),
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/exporter-trace-otlp-http'),
    ])
  const exporter = new OTLPTraceExporter({
    url: `${endpoint.replace(/\/+$/, '')}/v1/traces`,
    timeoutMillis: SEND_MS,
  })
  const provider = new sdk.TracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'refhir', 'service.version': version }),
    // Who called decides, where somebody did.
    sampler: new sdk.ParentBasedSampler({ root: new sdk.AlwaysOnSampler() }),
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter, maxQueueSize: MAX_WAITING })],
  })
  const tracer = provider.getTracer('refhir', version)
  const propagator = new W3CTraceContextPropagator()
  return {
    send(trace) {
      const { startedAt, parent, about, answered, steps } = trace
      const { method, route, requestClass, request } = about
      const above = propagator.extract(api.ROOT_CONTEXT, parent, api.defaultTextMapGetter)
      const status = answered?.status ?? 0
      const span = tracer.startSpan(
        route === undefined ? method : `${method} ${route}`,
        {
          kind: api.SpanKind.SERVER,
          startTime: hrTime(startedAt),
          attributes: {
            'http.request.method': method,
            ...(route !== undefined && { 'http.route': route }),
            'http.response.status_code': status,
            'refhir.class': requestClass,
            'refhir.request': request,
            'refhir.dropped': trace.dropped,
          },
        },
        above,
      )
      if (span.isRecording()) {
        const inside = api.trace.setSpan(above, span)
        for (const { kind, at, ms = 0, details, ended } of steps) {
          const attributes = toAttributes({ ...details, ...ended })
          const startTime = hrTime(startedAt + at)
          const child = tracer.startSpan(nameOf(kind, details), { startTime, attributes }, inside)
          if (ended?.failed !== undefined) child.setStatus({ code: api.SpanStatusCode.ERROR })
          child.end(hrTime(startedAt + at + ms))
        }
      }
      if (status >= 500) span.setStatus({ code: api.SpanStatusCode.ERROR })
      span.end(hrTime(startedAt + (answered?.duration ?? 0)))
    },
    // A collector that is away must not keep the server from stopping.
    stop: () => provider.shutdown().catch(() => undefined),
  }
}
