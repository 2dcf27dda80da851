/** Spans of OpenTelemetry: sent to a collector, below the span that the caller names, without anything that was sent or stored. */
// database: sqlite, because spans are made of steps, which trace/traces.test.ts has on each kind
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import trace from '../../../plugins/trace/index.ts'
import { startHookReceiver } from '../../support/hook-receiver.ts'
import { basic, serverWith } from '../../support/server-with.ts'

type Json = Record<string, any>

const SECRET = 'zwetschgenknoedel'
const TRACE_ID = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'

const spansOf = (bodies: readonly string[]): readonly Json[] =>
  bodies.flatMap((body) =>
    JSON.parse(body).resourceSpans.flatMap(({ scopeSpans }: Json) => scopeSpans.flatMap(({ spans }: Json) => spans)),
  )
const attributesOf = ({ attributes }: Json): Json =>
  Object.fromEntries(attributes.map(({ key, value }: Json) => [key, Object.values(value)[0]]))

test('a request is a span of kind server with its steps below it, in the trace of the caller', async () => {
  const collector = await startHookReceiver()
  const server = await serverWith({
    plugins: [trace, ...basic],
    settings: {
      features: { trace_engine: true, otlp_endpoint: `http://${collector.host}/` },
      conformance: { update_as_create: true },
    },
  })
  const put = (headers: Record<string, string>) =>
    server.inject({
      method: 'PUT',
      url: `/Patient/${SECRET}`,
      headers: { 'content-type': 'application/fhir+json', authorization: `Bearer ${SECRET}`, ...headers },
      payload: JSON.stringify({ resourceType: 'Patient', id: SECRET, name: [{ family: SECRET }] }),
    })
  const answer = await put({ traceparent: `00-${TRACE_ID}-${PARENT}-01` })
  assert.is(answer.statusCode, 201)
  assert.is(answer.headers['x-trace-id'], undefined)
  await put({ traceparent: `00-${'1'.repeat(32)}-${PARENT}-00` })
  await put({ traceparent: SECRET })
  await server.stop()
  await collector.close()
  assert.ok(collector.all.every(({ url, method }) => url === '/v1/traces' && method === 'POST'))
  const bodies = collector.all.map(({ body }) => body)
  assert.not(bodies.join().includes(SECRET))
  const spans = spansOf(bodies)
  const servers = spans.filter(({ kind }) => kind === 2)
  // The caller of the second one asked for none; what the third one sent names no trace.
  assert.is(servers.length, 2)
  const [own, root] = [
    servers.find(({ traceId }) => traceId === TRACE_ID) as Json,
    servers.find(({ traceId }) => traceId !== TRACE_ID) as Json,
  ]
  assert.equal([own.name, own.parentSpanId], ['PUT /:type/:id', PARENT])
  assert.ok(!root.parentSpanId)
  assert.is(attributesOf(own)['http.response.status_code'], 201)
  const below = spans.filter(({ parentSpanId }) => parentSpanId === own.spanId)
  assert.ok(below.some(({ name }) => name === 'ruling update Patient'))
  assert.ok(below.some(({ name }) => name.startsWith('statement ')))
  for (const { startTimeUnixNano, endTimeUnixNano } of below)
    assert.ok(BigInt(endTimeUnixNano) >= BigInt(startTimeUnixNano))
})

test('a collector that is away holds up neither requests nor the stop', async () => {
  const collector = await startHookReceiver()
  await collector.close()
  const server = await serverWith({
    plugins: [trace, ...basic],
    settings: { features: { trace_engine: true, otlp_endpoint: `http://${collector.host}` } },
  })
  assert.is((await server.inject('/Patient')).statusCode, 200)
  const began = performance.now()
  await server.stop()
  assert.ok(performance.now() - began < 15_000)
})

test.run()
