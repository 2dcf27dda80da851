/** Figures for Prometheus at /metrics. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { AnyPlugin } from '../../kernel/index.ts'
import metrics from '../../plugins/metrics/index.ts'
import { basic, serverWith } from '../support/server-with.ts'

const plugins: readonly AnyPlugin[] = [...basic, metrics]
const ON = { metrics: { enabled: true } }
const FHIR = { 'content-type': 'application/fhir+json' }

/** A line is a comment, or a name with labels and a number. https://prometheus.io/docs/instrumenting/exposition_formats/ */
const LINE =
  /^(# (HELP|TYPE) [a-zA-Z_:][\w:]* .*|[a-zA-Z_:][\w:]*(\{(\w+="[^"\\\n]*",?)+\})? (-?[\d.]+(e[+-]?\d+)?|NaN|Nan|[+-]Inf)( \d+)?)$/

/** `http_requests_total{class="read",status="200"}` → its value. */
const readFigures = (text: string): ReadonlyMap<string, number> => {
  const lines = text.trimEnd().split('\n')
  for (const line of lines) if (line !== '') assert.match(line, LINE, line)
  return new Map(
    lines
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  )
}

test('requests are counted and timed by class and status, beside the process and the database', async () => {
  const server = await serverWith({ plugins, settings: ON })
  const payload = '{"resourceType":"Patient"}'
  // A start may store commits of its own.
  const before = readFigures((await server.inject('/metrics')).body).get('cluster_seq') ?? -1
  const { id } = (await server.inject({ method: 'POST', url: '/Patient', headers: FHIR, payload })).json() as {
    id: string
  }
  for (let n = 0; n < 3; n += 1) await server.inject(`/Patient/${id}`)
  await server.inject('/Patient/none')
  for (let n = 0; n < 5; n += 1) await server.inject('/livez')
  const { statusCode, headers, body } = await server.inject('/metrics')
  assert.is(statusCode, 200)
  assert.is(headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8')
  const figures = readFigures(body)
  assert.is(figures.get('http_requests_total{class="write",status="201"}'), 1)
  assert.is(figures.get('http_requests_total{class="read",status="200"}'), 3, 'probes are not measured')
  assert.is(figures.get('http_requests_total{class="read",status="404"}'), 1)
  assert.is(figures.get('http_request_duration_seconds_count{class="read",status="200"}'), 3)
  assert.is(figures.get('http_request_duration_seconds_bucket{le="+Inf",class="read",status="200"}'), 3)
  assert.ok((figures.get('http_request_bytes_total{class="write"}') ?? 0) >= payload.length)
  assert.ok((figures.get('database_transactions') ?? 0) >= 1)
  assert.ok((figures.get('database_commits') ?? 0) >= 1)
  assert.is(figures.get('cluster_seq'), before + 1)
  assert.is(figures.get('cluster_lag'), 0)
  assert.ok((figures.get('cluster_epoch') ?? -1) >= 0)
  for (const name of ['size', 'busy', 'waiting']) assert.ok(figures.has(`database_pool_${name}`))
  assert.ok((figures.get('process_resident_memory_bytes') ?? 0) > 1_000_000)
  assert.ok(figures.has('nodejs_eventloop_lag_p99_seconds'))
  assert.not.match(body, id)
  await server.stop()
})

test('two servers of one process measure apart', async () => {
  const [one, other] = [await serverWith({ plugins, settings: ON }), await serverWith({ plugins, settings: ON })]
  await one.inject('/Patient/none')
  const read = async (server: typeof one) =>
    readFigures((await server.inject('/metrics')).body).get('http_requests_total{class="read",status="404"}')
  assert.is(await read(one), 1)
  assert.is(await read(other), undefined)
  await one.stop()
  await other.stop()
})

test('it is off unless asked for: no tap, no address', async () => {
  for (const [settings, taps, status] of [
    [ON, ['meter: measure'], 200],
    [{}, [], 404],
  ] as const) {
    const server = await serverWith({ plugins, settings })
    assert.equal(
      (await server.describe()).flatMap(({ hooks }) => hooks).filter((hook) => hook.startsWith('meter')),
      taps,
    )
    assert.is((await server.inject('/metrics')).statusCode, status)
    await server.stop()
  }
})

test.run()
