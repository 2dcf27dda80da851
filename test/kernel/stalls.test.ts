/** How long an answer may stand still before its connection is cut, which a route may say of itself. */
import fastify from 'fastify'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { kernelWith, pluginOf } from '../support/kernel-with.ts'
import { listening } from '../support/listening.ts'
import { connectTo } from '../support/raw-client.ts'

const STALL_MS = 250
const get = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`

/** Streams that say one word, and another one when the test says so. */
const streams = () => {
  const told = Promise.withResolvers<void>()
  const plugin = pluginOf('streams', ({ routes }) =>
    routes((app, _options, done) => {
      const stream = (path: string, config: { stallMs?: number | null }) =>
        app.get(path, { config }, (_request, reply) => {
          reply.hijack()
          reply.raw.write('begun')
          if (path !== '/stuck') void told.promise.then(() => reply.raw.end('ended'))
        })
      stream('/usual', {})
      stream('/stuck', {})
      stream('/short', { stallMs: STALL_MS })
      stream('/silent', { stallMs: null })
      done()
    }),
  )
  return { plugin, tell: told.resolve }
}

test('a stream may be silent for as long as it likes where its route says so; others are cut', async () => {
  const { plugin, tell } = streams()
  const { kernel, address } = await listening([plugin], { limits: { stallMs: STALL_MS } })
  const silent = await connectTo(address)
  silent.send(get('/silent'))
  await silent.until('begun')
  const usual = await connectTo(address)
  usual.send(get('/usual'))
  assert.not.match(await usual.closed, 'ended')
  tell()
  assert.match(await silent.until('ended'), 'begun')
  await kernel.stop()
})

test('a route may have a shorter time than others', async () => {
  const { plugin, tell } = streams()
  const { kernel, address } = await listening([plugin])
  const usual = await connectTo(address)
  usual.send(get('/usual'))
  await usual.until('begun')
  const short = await connectTo(address)
  short.send(get('/short'))
  assert.not.match(await short.closed, 'ended')
  tell()
  await usual.until('ended')
  await kernel.stop()
})

test('the time of one request of a connection is not that of those behind it', async () => {
  const { plugin, tell } = streams()
  const { kernel, address } = await listening([plugin], { limits: { stallMs: STALL_MS } })
  const client = await connectTo(address)
  // The second arrives while the first stands still, and gives it no time; its own begins with its turn.
  client.send(get('/silent') + get('/stuck'))
  await client.until('begun')
  const usual = await connectTo(address)
  usual.send(get('/usual'))
  await usual.closed
  tell()
  assert.match(await client.closed, /begun.*ended.*begun/s)
  await kernel.stop()
})

test('in an app of somebody else the time of the route holds too', async () => {
  const { plugin, tell } = streams()
  const { kernel } = await kernelWith([plugin])
  const host = fastify({ connectionTimeout: STALL_MS })
  host.register(kernel.fastify, { prefix: '/fhir' })
  const address = await host.listen({ port: 0, host: '127.0.0.1' })
  await kernel.start()
  const silent = await connectTo(address)
  silent.send(get('/fhir/silent'))
  await silent.until('begun')
  const short = await connectTo(address)
  short.send(get('/fhir/short'))
  assert.not.match(await short.closed, 'ended')
  tell()
  await silent.until('ended')
  await host.close()
})

test('an injected request, which has no connection, is answered', async () => {
  const { plugin, tell } = streams()
  const { kernel } = await kernelWith([plugin])
  await kernel.start()
  tell()
  assert.is((await kernel.inject('/silent')).body, 'begunended')
  await kernel.stop()
})

for (const stallMs of [0, -1, 1.5, 2 ** 31])
  test(`a time of ${stallMs} ms is refused at mounting`, async () => {
    const { kernel } = await kernelWith([
      pluginOf('wrong', ({ routes }) =>
        routes(async (app) => void app.get('/here', { config: { stallMs } }, async () => '')),
      ),
    ])
    try {
      await kernel.inject('/here')
      assert.unreachable()
    } catch (error) {
      assert.match((error as Error).message, 'the route /here: stallMs is a number of milliseconds, or null')
    }
    await kernel.stop()
  })

test.run()
