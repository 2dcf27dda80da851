/** WebSockets: every request for one passes the hooks and the router, on our own port and in both kinds of embedding. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import fastify from 'fastify'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  type AnyPlugin,
  asksForWebSocket,
  defineError,
  type Kernel,
  type RequestContext,
  type Usage,
} from '../../kernel/index.ts'
import { createDeadlines } from '../support/deadlines.ts'
import { kernelWith, pluginOf } from '../support/kernel-with.ts'
import { listening } from '../support/listening.ts'
import { connectTo } from '../support/raw-client.ts'
import { until } from '../support/until.ts'
import { acceptWebSocket, askForWebSocket, readText, sayGoodbye, sendText } from '../support/websocket.ts'

const FINISH_MS = 8_000
const Nobody = defineError('test/nobody', 401, 'login', 'Who are you?')
const TooMany = defineError('test/too-many', 429, 'throttled', 'Not so fast.')

/** A route that says every text back, with who sent it, and says goodbye when the server stops unless it is rude. */
const echo = ({ isRude = false } = {}) => {
  const used: Usage[] = []
  const contexts: RequestContext[] = []
  const plugin = pluginOf('echo', ({ hooks, routes }) => {
    hooks.meter.tap('note', (usage) => void used.push(usage))
    hooks.authenticate.tap('who', ({ headers }) => {
      if (headers['x-refused'] === '401') throw Nobody().with({ headers: { 'www-authenticate': 'Bearer' } })
      return { kind: 'client', client: 'c1' }
    })
    hooks.admit.tap('limit', ({ headers }) =>
      headers['x-refused'] === '429' ? TooMany().with({ headers: { 'retry-after': '7' } }) : undefined,
    )
    routes((app, _options, done) => {
      app.get('/echo', { config: { upgrade: true, requestClass: 'sync' } }, async ({ ctx, raw }) => {
        contexts.push(ctx)
        const { socket, stopping } = ctx.takeUpgrade()!
        acceptWebSocket(raw, socket)
        socket.on('data', (frame: Buffer) => {
          if (((frame[0] ?? 0) & 0x0f) === 8) socket.end()
          else sendText(socket, `${ctx.caller.client} ${readText(frame)}`)
        })
        if (!isRude) stopping.addEventListener('abort', () => sayGoodbye(socket))
      })
      app.get('/failing', { config: { upgrade: true } }, async ({ ctx }) => {
        ctx.takeUpgrade()
        throw new Error('after it took the connection')
      })
      app.get('/undecided', { config: { upgrade: true } }, async () => 'no, thanks')
      app.get('/page', async ({ ctx }) => `page ${ctx.takeUpgrade()}`)
      app.post('/drink', async ({ body }) => body)
      done()
    })
  })
  return { plugin, used, contexts }
}

/** Sends a text and gives what came back. */
const talk = async (address: string, path = '/echo'): Promise<string> => {
  const socket = new WebSocket(`${address.replace('http', 'ws')}${path}`)
  await new Promise((resolve, reject) => {
    socket.onopen = resolve
    socket.onerror = () => reject(new Error('the handshake failed'))
  })
  socket.send('hello')
  const { data } = await new Promise<MessageEvent>((resolve) => {
    socket.onmessage = resolve
  })
  const closed = once(socket, 'close')
  socket.close()
  await closed
  return data
}

/** The answer to a request for a WebSocket that is refused: the connection ends with it. */
const refusedOf = async (address: string, path: string, headers: Readonly<Record<string, string>> = {}) => {
  const client = await connectTo(address)
  client.send(askForWebSocket(path, headers))
  return client.closed
}

const siteOf = async (kernel: Kernel, options: object): Promise<{ site: Server; address: string }> => {
  const site = createServer(options, kernel.handler).on('upgrade', kernel.upgrade).listen(0, '127.0.0.1')
  await once(site, 'listening')
  return { site, address: `http://127.0.0.1:${(site.address() as AddressInfo).port}` }
}

test('a route takes the connection: hooks know who calls, and the usage is told once it closes, with status 101', async () => {
  const { plugin, used, contexts } = echo()
  const { kernel, address } = await listening([plugin])
  assert.is(await talk(address), 'c1 hello')
  await until(() => used.length === 1, 5_000, 'the usage')
  const [{ status, request, bytesIn, bytesOut }] = used as [Usage]
  assert.equal([status, request.route, request.requestClass], [101, '/echo', 'sync'])
  assert.ok(bytesIn > 150 && bytesOut > 130, `${bytesIn} ${bytesOut}`)
  assert.is(contexts[0]!.takeUpgrade(), undefined)
  await kernel.stop()
})

test('what the client sent behind its request is given with the connection', async () => {
  const heads: string[] = []
  const { kernel, address } = await listening([
    pluginOf('early', ({ routes }) =>
      routes((app, _options, done) => {
        app.get('/early', { config: { upgrade: true } }, async ({ ctx }) => {
          const { socket, head } = ctx.takeUpgrade()!
          heads.push(head.toString())
          socket.end('done')
        })
        done()
      }),
    ),
  ])
  const client = await connectTo(address)
  client.send(`${askForWebSocket('/early')}early bytes`)
  assert.is(await client.closed, 'done')
  assert.equal(heads, ['early bytes'])
  await kernel.stop()
})

for (const [what, path, headers, status, shown] of [
  ['nobody', '/echo', { 'x-refused': '401' }, 401, /www-authenticate: Bearer\r\n/],
  ['too many', '/echo', { 'x-refused': '429' }, 429, /retry-after: 7\r\n/],
  ['nothing there', '/nothing', {}, 404, /"not-found"/],
  ['another version', '/echo', { 'sec-websocket-version': '8' }, 426, /sec-websocket-version: 13\r\n/],
  ['no key', '/echo', { 'sec-websocket-key': '' }, 400, /sec-websocket-key is not 16 bytes/],
  ['a short key', '/echo', { 'sec-websocket-key': 'c2hvcnQ=' }, 400, /sec-websocket-key is not 16 bytes/],
  ['no host', '/echo', { host: '' }, 400, /the header host is missing/],
] as const)
  test(`a refusal is that of every request, and ends the connection: ${what}`, async () => {
    const { plugin, used } = echo()
    const { kernel, address, lines } = await listening([plugin])
    const text = await refusedOf(address, path, headers)
    assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} `))
    assert.match(text, /\r\nconnection: (upgrade, )?close\r\n/i)
    assert.match(text, /\r\nx-request-id: /)
    assert.match(text, '"resourceType":"OperationOutcome"')
    assert.match(text, shown)
    await until(() => used.length === 1, 5_000, 'the usage')
    assert.is(used[0]!.status, status)
    assert.equal(lines, [])
    await kernel.stop()
  })

test('while the server starts, and once it stops, it is 503', async () => {
  const ready = Promise.withResolvers<void>()
  const { plugin } = echo()
  const { kernel } = await kernelWith([plugin, pluginOf('slow', () => ({ start: () => ready.promise }))])
  const { site, address } = await siteOf(kernel, { shouldUpgradeCallback: asksForWebSocket })
  assert.match(await refusedOf(address, '/echo'), /^HTTP\/1\.1 503 .*The server is starting/s)
  ready.resolve()
  await kernel.start()
  assert.is(await talk(address), 'c1 hello')
  await kernel.stop()
  assert.match(await refusedOf(address, '/echo'), /^HTTP\/1\.1 503 .*The server is stopping/s)
  site.close()
})

test('without Upgrade the address is 426 and says what it takes; other addresses answer as ever', async () => {
  const { plugin } = echo()
  const { kernel, address } = await listening([plugin])
  const plain = await fetch(`${address}/echo`)
  assert.equal(
    [plain.status, plain.headers.get('upgrade'), plain.headers.get('sec-websocket-version')],
    [426, 'websocket', '13'],
  )
  assert.match(await plain.text(), 'OperationOutcome')
  assert.match(await refusedOf(address, '/page'), /^HTTP\/1\.1 200 .*page undefined$/s)
  assert.match(await refusedOf(address, '/undecided'), /^HTTP\/1\.1 200 .*no, thanks$/s)
  await kernel.stop()
})

test('a request that asks for h2c is answered by HTTP/1.1, with its body, and the connection goes on', async () => {
  const { plugin } = echo()
  const { kernel, address } = await listening([plugin])
  const client = await connectTo(address)
  const asking =
    'connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\nhost: a\r\n'
  client.send(`POST /drink HTTP/1.1\r\n${asking}content-type: text/plain\r\ncontent-length: 3\r\n\r\ntea`)
  assert.match(await client.until('tea'), /^HTTP\/1\.1 200 /)
  client.send(`GET /page HTTP/1.1\r\n${asking}\r\n`)
  await client.until('page undefined')
  client.destroy()
  await kernel.stop()
})

test('while no route takes WebSockets, none leaves HTTP', async () => {
  const { kernel, address } = await listening([
    pluginOf('page', ({ routes }) => routes(async (app) => void app.get('/page', async () => 'page'))),
  ])
  const client = await connectTo(address)
  client.send(askForWebSocket('/page').repeat(2))
  assert.match(await client.until('page'), /connection: keep-alive/i)
  client.destroy()
  await kernel.stop()
})

test('behind an answer that is not done it waits, and then the route takes the connection', async () => {
  const told = Promise.withResolvers<void>()
  const { plugin } = echo()
  let isAsked = false
  const slow = pluginOf('slow', ({ routes }) =>
    routes(async (app) => {
      app.get('/slow', async () => {
        isAsked = true
        await told.promise
        return 'slow'
      })
    }),
  )
  const { kernel, address } = await listening([plugin, slow])
  const client = await connectTo(address)
  client.send(`GET /slow HTTP/1.1\r\nhost: a\r\n\r\n${askForWebSocket('/echo')}`)
  await until(() => isAsked, 5_000, 'the request before')
  told.resolve()
  assert.match(await client.until('101'), /HTTP\/1\.1 200.*slowHTTP\/1\.1 101/s)
  client.destroy()
  assert.is(await talk(address), 'c1 hello')
  await kernel.stop()
})

test('a handler that fails after it took the connection is logged by name, and the connection ends', async () => {
  const { plugin } = echo()
  const { kernel, address, lines } = await listening([plugin])
  assert.is(await refusedOf(address, '/failing'), '')
  const [line] = lines
  assert.equal([line?.level, line?.plugin, line?.err.message], ['error', 'echo', 'after it took the connection'])
  await kernel.stop()
})

test('a client that leaves without a goodbye aborts the signal of the request, and no error is left to nobody', async () => {
  const { plugin, contexts, used } = echo()
  const { kernel, address } = await listening([plugin])
  const client = await connectTo(address)
  client.send(askForWebSocket('/echo'))
  await client.until('101 Switching')
  const { signal } = contexts[0]!
  assert.not(signal.aborted)
  client.destroy()
  await until(() => signal.aborted && used.length === 1, 5_000, 'the end')
  await kernel.stop()
})

for (const [where, prefix] of [
  ['under a prefix', '/fhir'],
  ['without a prefix', ''],
] as const)
  test(`in a Fastify app it goes to the host's router, ${where}`, async () => {
    const { plugin } = echo()
    const { kernel } = await kernelWith([plugin])
    const host = fastify()
    const seen: string[] = []
    host.addHook('onRequest', async ({ url }) => void seen.push(url))
    host.register(kernel.fastify, { prefix })
    const address = await host.listen({ port: 0, host: '127.0.0.1' })
    await kernel.start()
    const plain = await refusedOf(address, `${prefix}/echo`)
    assert.match(plain, /^HTTP\/1\.1 426 /, 'the host passes nothing on')
    host.server.on('upgrade', kernel.upgrade)
    assert.is(await talk(address, `${prefix}/echo`), 'c1 hello')
    assert.match(await refusedOf(address, `${prefix}/echo`, { 'x-refused': '401' }), /^HTTP\/1\.1 401 /)
    assert.equal(seen, Array(3).fill(`${prefix}/echo`))
    await host.close()
  })

test('behind a bare server it is the same, also where everything leaves HTTP: only a body is refused then', async () => {
  for (const [options, drunk] of [
    [{ shouldUpgradeCallback: asksForWebSocket }, /^HTTP\/1\.1 200 .*tea$/s],
    [{}, /^HTTP\/1\.1 400 .*Send it without that header/s],
  ] as const) {
    const { plugin } = echo()
    const { kernel } = await kernelWith([plugin])
    await kernel.start()
    const { site, address } = await siteOf(kernel, options)
    assert.is(await talk(address), 'c1 hello')
    assert.match(await refusedOf(address, '/echo', { 'x-refused': '429' }), /^HTTP\/1\.1 429 /)
    const client = await connectTo(address)
    const close = 'connection: Upgrade, close\r\nupgrade: h2c\r\nhost: a\r\n'
    client.send(`POST /drink HTTP/1.1\r\n${close}content-type: text/plain\r\ncontent-length: 3\r\n\r\ntea`)
    assert.match(await client.closed, drunk)
    const other = await connectTo(address)
    other.send(`GET /page HTTP/1.1\r\n${close}\r\n`)
    assert.match(await other.closed, /page undefined$/)
    await kernel.stop()
    site.close()
  }
})

const manyOpen = async (address: string, path: string, count: number): Promise<readonly Promise<unknown>[]> => {
  const clients = []
  for (let at = 0; at < count; at += 1) {
    const client = await connectTo(address)
    client.send(askForWebSocket(path))
    clients.push(client)
  }
  await Promise.all(clients.map((client) => client.until('101 Switching')))
  return clients.map(({ closed }) => closed)
}

const within = async (ms: number, work: () => Promise<unknown>): Promise<void> => {
  const began = performance.now()
  await work()
  const took = performance.now() - began
  assert.ok(took <= ms, `it took ${took.toFixed(0)} ms`)
}

test('a stop says goodbye to 1,000 connections and is done within a second', async () => {
  const { plugin, used } = echo()
  const { kernel, address } = await listening([plugin])
  const closed = await manyOpen(address, '/echo', 1_000)
  await within(1_000, () => kernel.stop())
  await Promise.all(closed)
  assert.is(used.length, 1_000)
})

test('so does the close of a Fastify app, which waits for them before it stops us', async () => {
  const { plugin } = echo()
  const { kernel } = await kernelWith([plugin])
  const host = fastify({ http: { shouldUpgradeCallback: asksForWebSocket } })
  host.register(kernel.fastify, { prefix: '/fhir' })
  const address = await host.listen({ port: 0, host: '127.0.0.1' })
  host.server.on('upgrade', kernel.upgrade)
  await kernel.start()
  const closed = await manyOpen(address, '/fhir/echo', 100)
  await within(1_000, () => host.close())
  await Promise.all(closed)
  assert.is(kernel.phase, 'stopped')
})

for (const where of ['our own port', 'a Fastify app'] as const)
  test(`a connection that heeds no goodbye is cut 8 seconds after the stop began, on ${where}`, async () => {
    const deadlines = createDeadlines()
    const plugins: AnyPlugin[] = [echo({ isRude: true }).plugin]
    const { kernel } = await kernelWith(plugins, {
      clock: deadlines.clock,
      settings: { server: { bind: '127.0.0.1:0' } },
    })
    const host = fastify({ http: { shouldUpgradeCallback: asksForWebSocket } })
    let address: string
    if (where === 'our own port') address = await kernel.listen()
    else {
      host.register(kernel.fastify)
      address = await host.listen({ port: 0, host: '127.0.0.1' })
      host.server.on('upgrade', kernel.upgrade)
    }
    await kernel.start()
    const closed = await manyOpen(address, '/echo', 2)
    const stopping = where === 'our own port' ? kernel.stop() : host.close()
    await new Promise(setImmediate)
    assert.is(kernel.phase, 'stopping')
    deadlines.pass(FINISH_MS)
    await Promise.all([...closed, stopping])
    assert.is(kernel.phase, 'stopped')
  })

test.run()
