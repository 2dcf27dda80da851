/** The kernel in a Fastify app of somebody else: neither notices the other, and they stop in the right order. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import fastify, { type FastifyInstance } from 'fastify'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Kernel, Usage } from '../../kernel/index.ts'
import probes from '../../plugins/probes/index.ts'
import { kernelWith, pluginOf } from '../support/kernel-with.ts'
import { basic } from '../support/server-with.ts'

const FHIR_JSON = 'application/fhir+json'
const MEMORY = { settings: { database: { kind: 'memory' } } }

/** Routes that answer, fail and wait. */
const house = () => {
  const arrived = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<string>()
  const used: Usage[] = []
  const stops: string[] = []
  const plugin = pluginOf('house', ({ hooks, routes }) => {
    hooks.meter.tap('note', (usage) => void used.push(usage))
    routes((app, _options, done) => {
      app.get('/who', async ({ ctx }) => ({ url: ctx.url, base: ctx.baseUrl }))
      app.post('/echo', async ({ body }) => ({ body }))
      app.get('/fail', async () => {
        throw new Error('ours')
      })
      app.get('/slow', async () => {
        arrived.resolve()
        return answer.promise
      })
      done()
    })
    return { stop: async () => void stops.push('house') }
  })
  return { plugin, used, stops, arrived: arrived.promise, answer: answer.resolve }
}

const embedded = async (
  arrange: (host: FastifyInstance, kernel: Kernel) => void,
  parts = house(),
): Promise<
  { host: FastifyInstance; kernel: Kernel; lines: readonly Record<string, any>[] } & ReturnType<typeof house>
> => {
  const { kernel, lines } = await kernelWith([parts.plugin, probes])
  const host = fastify()
  arrange(host, kernel)
  await host.ready()
  await kernel.start()
  return { host, kernel, lines, ...parts }
}

const under =
  (prefix: string) =>
  (host: FastifyInstance, kernel: Kernel): void =>
    void host.register(kernel.fastify, { prefix })

test('it starts with the host, and answers 503 with an outcome until it is ready, but /livez', async () => {
  const ready = Promise.withResolvers<void>()
  const { kernel } = await kernelWith([
    pluginOf('slow-start', () => ({ start: () => ready.promise })),
    house().plugin,
    probes,
  ])
  const host = fastify()
  host.register(kernel.fastify, { prefix: '/fhir' })
  const early = await host.inject('/fhir/who')
  assert.is(early.statusCode, 503)
  assert.is(early.json().resourceType, 'OperationOutcome')
  assert.is((await host.inject('/fhir/readyz')).statusCode, 503)
  assert.is((await host.inject('/fhir/livez')).statusCode, 200)
  ready.resolve()
  await kernel.start()
  assert.is((await host.inject('/fhir/who')).statusCode, 200)
  await host.close()
})

test('the handler of a bare server answers 503 with an outcome before start, too', async () => {
  const { kernel } = await kernelWith([house().plugin, probes])
  const server = createServer(kernel.handler).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const early = await fetch(`${address}/who`)
  assert.is(early.status, 503)
  assert.match(await early.text(), /"OperationOutcome".*The server is starting/)
  assert.is((await fetch(`${address}/livez`)).status, 200)
  await kernel.start()
  assert.is((await fetch(`${address}/who`)).status, 200)
  await kernel.stop()
  server.closeAllConnections()
  server.close()
})

test('a bare server whose routes cannot be mounted answers 500 with an outcome, and the log says why', async () => {
  const twice = pluginOf('twice', ({ routes }) => routes(async (app) => void app.get('/who', async () => 'me too')))
  const { kernel, lines } = await kernelWith([house().plugin, twice])
  const server = createServer(kernel.handler).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/who`)
  assert.is(answer.status, 500)
  assert.is(((await answer.json()) as { resourceType: string }).resourceType, 'OperationOutcome')
  assert.match(lines[0]!.err.message, 'The routes of the plugin "twice" cannot be mounted')
  await kernel.stop()
  server.closeAllConnections()
  server.close()
})

for (const [prefix, at] of [
  ['/fhir', '/fhir'],
  ['/fhir/', '/fhir'],
  ['/a/b', '/a/b'],
] as const)
  test(`mounted under ${prefix} a request is at its place there, and links start with it`, async () => {
    const { host } = await embedded(under(prefix))
    const { url, base } = (await host.inject({ url: `${at}/who?x=1`, headers: { host: 'h.test' } })).json()
    assert.equal([url, base], ['/who?x=1', `http://h.test${at}`])
    assert.is((await host.inject(`${at}/livez`)).statusCode, 200)
    assert.is((await host.inject('/livez')).statusCode, 404)
    await host.close()
  })

test('unknown addresses under the prefix are ours, all others the host answers as it likes', async () => {
  const { host } = await embedded((app, kernel) => {
    app.setNotFoundHandler((_request, reply) => reply.code(404).send('lost'))
    app.register(kernel.fastify, { prefix: '/fhir' })
  })
  assert.is((await host.inject('/fhir/nothing')).json().resourceType, 'OperationOutcome')
  assert.is((await host.inject('/nothing')).body, 'lost')
  await host.close()
})

test('mounted without a prefix, what is unknown is for the host to answer, with a handler of its own or without', async () => {
  for (const own of [true, false]) {
    const { host } = await embedded((app, kernel) => {
      if (own) app.setNotFoundHandler((_request, reply) => reply.code(404).send('lost'))
      app.register(kernel.fastify)
    })
    assert.is((await host.inject('/who')).statusCode, 200)
    const lost = await host.inject('/nothing')
    assert.is(lost.statusCode, 404)
    assert.is(
      lost.body,
      own ? 'lost' : '{"message":"Route GET:/nothing not found","error":"Not Found","statusCode":404}',
    )
    await host.close()
  }
})

test('the host keeps its error handler and its parsers for itself, and we keep ours', async () => {
  const { kernel } = await kernelWith([...basic, house().plugin], MEMORY)
  const host = fastify()
  host.setErrorHandler((error, _request, reply) => reply.code(418).send(`host: ${(error as Error).message}`))
  host.addContentTypeParser(FHIR_JSON, (_request, _payload, done) => done(new Error('the host parses this')))
  host.post('/host', async ({ body }) => ({ body }))
  host.get('/host/fail', async () => {
    throw new Error('theirs')
  })
  host.register(kernel.fastify, { prefix: '/fhir' })
  await host.ready()
  await kernel.start()
  const headers = { 'content-type': FHIR_JSON }
  const payload = '{"resourceType":"Patient"}'
  assert.is((await host.inject({ method: 'POST', url: '/fhir/Patient', headers, payload })).statusCode, 201)
  assert.is((await host.inject({ method: 'POST', url: '/host', headers, payload })).body, 'host: the host parses this')
  const json = { 'content-type': 'application/json' }
  assert.equal((await host.inject({ method: 'POST', url: '/host', headers: json, payload: '{"a":1}' })).json(), {
    body: { a: 1 },
  })
  assert.is((await host.inject('/host/fail')).body, 'host: theirs')
  const ours = await host.inject('/fhir/fail')
  assert.is(ours.statusCode, 500)
  assert.is(ours.json().resourceType, 'OperationOutcome')
  const missing = await host.inject('/fhir/Patient/none')
  assert.is(missing.statusCode, 404)
  assert.is(missing.json().resourceType, 'OperationOutcome')
  await host.close()
})

test("the host's limit of a body is not ours", async () => {
  const { kernel } = await kernelWith(basic, MEMORY)
  const host = fastify({ bodyLimit: 1000 })
  host.register(kernel.fastify, { prefix: '/fhir' })
  await host.ready()
  await kernel.start()
  const payload = JSON.stringify({ resourceType: 'Patient', name: [{ text: 'x'.repeat(50_000) }] })
  const answer = await host.inject({
    method: 'POST',
    url: '/fhir/Patient',
    headers: { 'content-type': FHIR_JSON },
    payload,
  })
  assert.is(answer.statusCode, 201)
  await host.close()
})

test('no hook and no header of ours touches a request of the host', async () => {
  const { host, used } = await embedded((app, kernel) => {
    app.register(kernel.fastify, { prefix: '/fhir' })
    app.get('/host', async (request) => ({ ctx: 'ctx' in request }))
  })
  const theirs = await host.inject({ url: '/host', headers: { 'x-request-id': 'r1' } })
  assert.equal(theirs.json(), { ctx: false })
  assert.is(theirs.headers['x-request-id'], undefined)
  assert.is(used.length, 0)
  await host.inject('/fhir/who')
  assert.is(used.length, 1)
  await host.close()
})

test("a hook of the host may answer or refuse before us: that is the host's answer, and nothing of ours breaks", async () => {
  const { host, used, lines } = await embedded((app, kernel) => {
    app.addHook('onRequest', async (request, reply) => {
      if (request.headers['x-host'] === 'answer') return reply.code(401).send('who are you?')
      if (request.headers['x-host'] === 'throw') throw Object.assign(new Error('not today'), { statusCode: 403 })
      return undefined
    })
    app.setErrorHandler((error, _request, reply) => {
      const { statusCode, message } = error as Error & { statusCode: number }
      reply.code(statusCode).send(`host: ${message}`)
    })
    app.register(kernel.fastify, { prefix: '/fhir' })
  })
  for (const url of ['/fhir/who', '/fhir/livez', '/fhir/nothing']) {
    const answered = await host.inject({ url, headers: { 'x-host': 'answer' } })
    assert.equal([url, answered.statusCode, answered.body], [url, 401, 'who are you?'])
    const thrown = await host.inject({ url, headers: { 'x-host': 'throw' } })
    assert.equal([url, thrown.statusCode, thrown.body], [url, 403, 'host: not today'])
  }
  assert.is(used.length, 0)
  assert.equal(lines, [])
  assert.is((await host.inject('/fhir/who')).statusCode, 200)
  await host.close()
})

test('two kernels stand side by side in one app', async () => {
  const one = await kernelWith([house().plugin])
  const two = await kernelWith([house().plugin])
  const host = fastify()
  host.register(one.kernel.fastify, { prefix: '/one' })
  host.register(two.kernel.fastify, { prefix: '/two' })
  await host.ready()
  await Promise.all([one.kernel.start(), two.kernel.start()])
  for (const at of ['/one', '/two']) assert.match((await host.inject(`${at}/who`)).json().base, at)
  await host.close()
  assert.equal([one.kernel.phase, two.kernel.phase], ['stopped', 'stopped'])
})

test('when the host closes, a request in flight is finished first, then our plugins stop, then the host goes on', async () => {
  const order: string[] = []
  const parts = house()
  const { host, kernel, arrived, answer } = await embedded((app, one) => {
    app.addHook('onResponse', async () => void order.push(`answered, house stopped: ${parts.stops.length === 1}`))
    app.addHook('onClose', async () => void order.push(`host, house stopped: ${parts.stops.length === 1}`))
    app.register(one.fastify, { prefix: '/fhir' })
  }, parts)
  const address = await host.listen({ port: 0, host: '127.0.0.1' })
  const slow = fetch(`${address}/fhir/slow`)
  await arrived
  const closing = host.close()
  await new Promise(setImmediate)
  assert.is(kernel.phase, 'stopping')
  answer('done')
  const answered = await slow
  assert.is(answered.headers.get('connection'), 'close')
  assert.is(await answered.text(), 'done')
  await closing
  assert.is(kernel.phase, 'stopped')
  assert.equal(order, ['answered, house stopped: false', 'host, house stopped: true'])
})

test('a kernel stopped under a running host finishes what is in flight and answers 503 from then on', async () => {
  const { host, kernel, arrived, answer, stops } = await embedded(under('/fhir'))
  const slow = host.inject('/fhir/slow')
  await arrived
  const stopping = kernel.stop()
  assert.is((await host.inject('/fhir/who')).statusCode, 503)
  assert.equal(stops, [])
  answer('done')
  assert.is((await slow).body, 'done')
  await stopping
  assert.equal(stops, ['house'])
  assert.is((await host.inject('/fhir/who')).statusCode, 503)
  assert.is((await host.inject('/fhir/livez')).statusCode, 200)
  await host.close()
})

test('a start that fails leaves the host running, and is logged', async () => {
  const { kernel, lines } = await kernelWith([
    pluginOf('broken', () => ({ start: () => Promise.reject(new Error('no disk')) })),
    house().plugin,
    probes,
  ])
  const host = fastify()
  host.get('/host', async () => 'fine')
  host.register(kernel.fastify, { prefix: '/fhir' })
  await host.ready()
  await kernel.start().catch(() => undefined)
  assert.is((await host.inject('/host')).body, 'fine')
  assert.is((await host.inject('/fhir/who')).statusCode, 503)
  assert.is((await host.inject('/fhir/readyz')).statusCode, 503)
  assert.ok(lines.some(({ level, err }) => level === 'error' && /"broken" cannot start: no disk/.test(err?.message)))
  await host.close()
})

test('routes that cannot be mounted stop the host, by the name of their plugin', async () => {
  const twice = pluginOf('twice', ({ routes }) => routes(async (app) => void app.get('/who', async () => 'me too')))
  const { kernel } = await kernelWith([house().plugin, twice])
  const host = fastify()
  host.register(kernel.fastify, { prefix: '/fhir' })
  try {
    await host.ready()
    assert.unreachable()
  } catch (error) {
    assert.match((error as Error).message, 'The routes of the plugin "twice" cannot be mounted: ')
  }
})

test.run()
