/** The hook `relay`: asked behind `admit` and before the body is parsed, of routes that say so; it may take the body. */
// process: its own, because the collections that it asks for take longer the more others have left in memory
import { once } from 'node:events'
import { createServer, type IncomingMessage, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import fastify from 'fastify'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  type AnyPlugin,
  defineError,
  type Hooks,
  mountAdmin,
  type RawBody,
  type Reply,
  type RequestContext,
  type Usage,
} from '../../kernel/index.ts'
import { watchHeldMemory } from '../support/held-memory.ts'
import { kernelWith, pluginOf } from '../support/kernel-with.ts'
import { listening } from '../support/listening.ts'
import { connectTo } from '../support/raw-client.ts'
import { until } from '../support/until.ts'

const MB = 1024 * 1024
const Away = defineError('test/away', 503, 'transient', 'The other server is away.')

/** A route that relays, one that does not, and what their handlers were given. */
const house = () => {
  const handled: unknown[] = []
  const plugin = pluginOf('house', ({ routes }) =>
    routes((app, _options, done) => {
      for (const relay of [true, false])
        app.route({
          method: ['GET', 'POST'],
          url: relay ? '/far' : '/near',
          config: { relay },
          handler: async ({ body }) => {
            handled.push(body)
            return 'handled'
          },
        })
      done()
    }),
  )
  return { plugin, handled }
}

const relaying = (relay: (request: RequestContext) => Reply | undefined | Promise<Reply | undefined>) =>
  pluginOf('relaying', ({ hooks }) => hooks.relay.tapPromise('send on', async (request) => relay(request)))

const textOf = async (stream: Readable): Promise<string> => {
  const parts: Buffer[] = []
  for await (const part of stream as AsyncIterable<Buffer>) parts.push(part)
  return Buffer.concat(parts).toString()
}

const post = (address: string, body: string, path = '/far') =>
  fetch(address + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body })

test('it is asked last, with the caller known, of routes that say so; they tell earlier hooks', async () => {
  const order: string[] = []
  const note = (name: string) => (request: RequestContext) => void order.push(`${name} ${request.relays}`)
  const noting = pluginOf('noting', ({ hooks }) => {
    for (const name of ['relay', 'admit', 'authenticate', 'beforeRequest'] as const)
      (hooks[name] as Hooks['admit']).tap(name, note(name) as () => undefined)
  })
  const { plugin, handled } = house()
  const { kernel, address } = await listening([noting, plugin])
  assert.is(await (await post(address, '{"a":1}')).text(), 'handled')
  assert.equal(order, ['beforeRequest true', 'authenticate true', 'admit true', 'relay true'])
  order.length = 0
  assert.is(await (await post(address, '{"a":2}', '/near')).text(), 'handled')
  assert.equal(order, ['beforeRequest false', 'authenticate false', 'admit false'])
  assert.equal(handled, [{ a: 1 }, { a: 2 }])
  await kernel.stop()
})

test('a tap is given the bytes of the body, which nobody has read, and its Reply is the answer', async () => {
  const { plugin, handled } = house()
  const bodies: (RawBody | undefined)[] = []
  const { kernel, address } = await listening([
    relaying(async ({ body }) => {
      bodies.push(body)
      return { status: 207, headers: { 'x-from': 'far' }, body: await textOf(body!.take()) }
    }),
    plugin,
  ])
  const answer = await post(address, '{"not":json')
  assert.equal([answer.status, answer.headers.get('x-from'), await answer.text()], [207, 'far', '{"not":json'])
  assert.is(bodies[0]!.length, 11)
  const chunked = await fetch(`${address}/far`, {
    method: 'POST',
    body: Readable.toWeb(Readable.from([Buffer.from('two '), Buffer.from('chunks')])) as ReadableStream,
    duplex: 'half',
  } as RequestInit)
  assert.is(await chunked.text(), 'two chunks')
  assert.is(bodies[1]!.length, undefined)
  assert.equal(handled, [])
  await kernel.stop()
})

test('a request without a body has none, and on a route that does not relay no hook is given one', async () => {
  const seen: unknown[] = []
  const { plugin } = house()
  const looking = pluginOf('looking', ({ hooks }) => {
    hooks.admit.tap('look', ({ body }) => {
      seen.push(body)
      return undefined
    })
    hooks.relay.tap('look', ({ body }) => {
      seen.push(body)
      return undefined
    })
  })
  const { kernel, address } = await listening([looking, plugin])
  await fetch(`${address}/far`)
  await post(address, '', '/far')
  await post(address, '{}', '/near')
  assert.equal(seen, Array(5).fill(undefined))
  await kernel.stop()
})

test('a tap that leaves the body alone, and says nothing, leaves the request to the route', async () => {
  const { plugin, handled } = house()
  let kept: RawBody | undefined
  const { kernel, address } = await listening([
    relaying(({ body }) => {
      kept = body
      return undefined
    }),
    plugin,
  ])
  assert.is(await (await post(address, '{"a":1}')).text(), 'handled')
  assert.equal(handled, [{ a: 1 }])
  assert.throws(() => kept!.take(), /taken only while relay is asked/)
  await kernel.stop()
})

test('a tap that took the body and gives no Reply is a 500 that names it; the next tap and the route are not asked', async () => {
  const { plugin, handled } = house()
  let asked = false
  const { kernel, address, lines } = await listening([
    pluginOf('greedy', ({ hooks }) =>
      hooks.relay.tapPromise('take', async ({ body }) => {
        for await (const _chunk of body!.take());
        return undefined
      }),
    ),
    relaying(() => {
      asked = true
      return undefined
    }),
    plugin,
  ])
  const answer = await post(address, '{}')
  assert.is(answer.status, 500)
  assert.not.match(await answer.text(), 'greedy')
  const line = lines.find(({ level }) => level === 'error')
  assert.equal([line?.plugin, line?.hook], ['greedy', 'relay'])
  assert.match(line?.err.message, /"greedy" took the body/)
  assert.not(asked)
  assert.equal(handled, [])
  await kernel.stop()
})

test('a body is taken once, and a refusal after that is answered', async () => {
  const { plugin } = house()
  const { kernel, address } = await listening([
    relaying(({ body, headers }) => {
      body!.take()
      if (headers['x-twice'] !== undefined) body!.take()
      throw Away()
    }),
    plugin,
  ])
  const away = await post(address, '{}')
  assert.equal([away.status, ((await away.json()) as any).issue[0].diagnostics], [503, 'The other server is away.'])
  const twice = await fetch(`${address}/far`, { method: 'POST', headers: { 'x-twice': '1' }, body: '{}' })
  assert.is(twice.status, 500)
  await kernel.stop()
})

test('a body that its taker destroys leaves the connection to the answer, which ends it', async () => {
  const { plugin } = house()
  const { kernel, address } = await listening([
    relaying(({ body }) => {
      body!.take().destroy(new Error('the other server went away'))
      return { status: 502, body: 'no luck' }
    }),
    plugin,
  ])
  const client = await connectTo(address)
  client.send(`POST /far HTTP/1.1\r\nhost: a\r\ncontent-length: ${MB}\r\n\r\n${'x'.repeat(1000)}`)
  const text = await client.closed
  assert.match(text, /^HTTP\/1\.1 502 /)
  assert.match(text, /connection: close\r\n/i)
  assert.match(text, /no luck$/)
  await kernel.stop()
})

test('the rest of a short body that its taker does not want is read, and the connection goes on', async () => {
  const { plugin } = house()
  const { kernel, address } = await listening([
    relaying(({ body }) => {
      body!.take().destroy()
      return { status: 409, body: 'not now' }
    }),
    plugin,
  ])
  const client = await connectTo(address)
  client.send(`POST /far HTTP/1.1\r\nhost: a\r\ncontent-length: 2000\r\n\r\n${'x'.repeat(1000)}`)
  await client.until('not now')
  client.send(`${'x'.repeat(1000)}GET /near HTTP/1.1\r\nhost: a\r\n\r\n`)
  await client.until('handled')
  client.destroy()
  await kernel.stop()
})

test('a client that leaves in the middle ends the stream with an error, and nobody has to listen to that', async () => {
  const { plugin } = house()
  const taken = Promise.withResolvers<Readable>()
  const { kernel, address } = await listening([
    relaying(({ body }) => {
      taken.resolve(body!.take())
      return new Promise(() => undefined)
    }),
    plugin,
  ])
  const client = await connectTo(address)
  client.send(`POST /far HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\nhalf`)
  const stream = await taken.promise
  client.destroy()
  await until(() => stream.destroyed, 5_000, 'the stream to end')
  assert.ok(stream.errored)
  await kernel.stop()
})

test('64 MB are relayed in 20 MB of memory, and the answer is as long', async () => {
  const used = watchHeldMemory()
  let most = 0
  // Slower than the client: what is not held back lies somewhere in this process.
  const far = createServer(async (request, response) => {
    let bytes = 0
    let looked = 0
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes - looked > 15 * MB) {
        looked = bytes
        most = Math.max(most, await used())
      }
      await new Promise(setImmediate)
      if (!response.write(chunk)) await once(response, 'drain')
    }
    response.end()
  }).listen(0, '127.0.0.1')
  await once(far, 'listening')
  const { port } = far.address() as AddressInfo
  const { plugin } = house()
  const { kernel, address } = await listening([
    relaying(async ({ body }) => {
      const sent = send({ port, host: '127.0.0.1', method: 'POST' })
      void pipeline(body!.take(), sent).catch(() => undefined)
      const [answer] = (await once(sent, 'response')) as [IncomingMessage]
      return { status: answer.statusCode ?? 502, body: answer }
    }),
    plugin,
  ])
  const chunk = Buffer.alloc(64 * 1024, 'x')
  const before = await used()
  const asking = send(`${address}/far`, { method: 'POST' })
  const answered = once(asking, 'response') as Promise<[IncomingMessage]>
  void pipeline(
    Readable.from(
      (function* () {
        for (let sent = 0; sent < 64 * MB; sent += chunk.length) yield chunk
      })(),
    ),
    asking,
  )
  let bytes = 0
  const [answer] = await answered
  for await (const part of answer as AsyncIterable<Buffer>) bytes += part.length
  assert.is(bytes, 64 * MB)
  assert.ok(most - before < 20 * MB, `${((most - before) / MB).toFixed(1)} MB`)
  await kernel.stop()
  far.close()
})

test('a direct answer whose route relays is left to the router where relay is tapped, and only there', async () => {
  const pages = pluginOf('pages', ({ routes, direct }) => {
    routes((app, _options, done) => {
      app.get('/page', { config: { relay: true } }, async () => 'usual')
      done()
    })
    direct({
      path: '/page',
      meet: (url) => (url === '/page' ? url : undefined),
      answer: () => ({ status: 200, headers: [], body: 'direct' }),
    })
  })
  for (const [plugins, expected] of [
    [[pages], 'direct'],
    [[pages, relaying(() => ({ status: 200, body: 'relayed' }))], 'relayed'],
  ] as const) {
    const { kernel, address } = await listening(plugins)
    assert.is(await (await fetch(`${address}/page`)).text(), expected)
    await kernel.stop()
  }
})

test('with the name of a header relay is asked only for requests that have it; the others stay direct answers', async () => {
  const marks: unknown[] = []
  const pages = pluginOf('pages', ({ routes, direct, hooks }) => {
    hooks.admit.tap('note', ({ relays }) => {
      marks.push(relays)
      return undefined
    })
    routes((app, _options, done) => {
      app.get('/page', { config: { relay: 'x-newer' } }, async () => 'usual')
      done()
    })
    direct({
      path: '/page',
      meet: (url) => (url === '/page' ? url : undefined),
      answer: () => ({ status: 200, headers: [], body: 'direct' }),
    })
  })
  const asked: string[] = []
  const relay = relaying(({ headers }) => {
    asked.push(headers['x-newer'] as string)
    return headers['x-newer'] === 'far' ? { status: 200, body: 'relayed' } : undefined
  })
  const { kernel, address } = await listening([pages, relay])
  const read = async (headers: Record<string, string>) => (await fetch(`${address}/page`, { headers })).text()
  assert.is(await read({}), 'direct')
  assert.is(await read({ 'x-newer': 'far' }), 'relayed')
  assert.is(await read({ 'x-newer': 'near' }), 'usual')
  assert.equal(asked, ['far', 'near'])
  assert.equal(marks, [false, 'x-newer', 'x-newer'])
  await kernel.stop()
})

test('a server that a request reaches, and one that sends it on, mark it, and meter is told', async () => {
  const used: Usage[] = []
  const late: string[] = []
  const attempt = (mark: () => void): undefined => {
    try {
      mark()
    } catch (error) {
      late.push((error as Error).message)
    }
  }
  const marking = pluginOf('marking', ({ hooks }) => {
    hooks.beforeRequest.tap('receive', (request) => {
      if (request.headers['x-received'] !== undefined) request.markReceived()
      return attempt(() => request.markSent())
    })
    hooks.admit.tap('late', (request) => {
      attempt(() => request.markReceived())
      return attempt(() => request.markSent())
    })
    hooks.relay.tap('send', (request) => {
      if (request.headers['x-sent'] === undefined) return undefined
      request.markSent()
      return { status: 200, body: 'sent' }
    })
    hooks.meter.tap('note', (usage) => void used.push(usage))
  })
  const { plugin } = house()
  const { kernel, address } = await listening([marking, plugin])
  for (const name of ['x-received', 'x-sent', 'x-none'])
    await (await fetch(`${address}/far`, { headers: { [name]: '1' } })).text()
  await until(() => used.length === 3, 5_000, 'three requests')
  assert.equal(
    used.map(({ relayed, request }) => [relayed, request.relayed]),
    [
      ['received', 'received'],
      ['sent', 'sent'],
      [undefined, undefined],
    ],
  )
  assert.is(late.length, 9)
  assert.match(late[0]!, /received in beforeRequest/)
  await kernel.stop()
})

test('what waits in memory is stored before relay is asked, and only there', async () => {
  const order: string[] = []
  const showing = pluginOf('showing', ({ routes, run }) =>
    routes((app, _options, done) => {
      mountAdmin(app, run, {
        path: '/_figures',
        beforeRelay: async () => {
          await new Promise(setImmediate)
          order.push('stored')
        },
        answer: async () => ({ type: 'text/plain', body: 'own' }),
      })
      done()
    }),
  )
  const relay = relaying(() => {
    order.push('asked')
    return { status: 200, body: 'far' }
  })
  for (const [plugins, expected] of [
    [[showing], 'own'],
    [[showing, relay], 'far'],
  ] as const) {
    const { kernel, address } = await listening(plugins)
    assert.is(await (await fetch(`${address}/_figures`)).text(), expected)
    await kernel.stop()
  }
  assert.equal(order, ['stored', 'asked'])
})

test('a route that takes connections does not relay, and a header to relay by is spelled in lower case', async () => {
  for (const config of [{ relay: true, upgrade: true }, { relay: 'X-Newer' }]) {
    const { kernel } = await kernelWith([
      pluginOf('odd', ({ routes }) => routes(async (app) => void app.get('/here', { config }, async () => 'here'))),
    ])
    try {
      await kernel.inject('/here')
      assert.unreachable()
    } catch (error) {
      assert.match((error as Error).message, /The routes of the plugin "odd" cannot be mounted: .*\/here/)
    }
    await kernel.stop()
  }
})

test('the address of a request may be set in beforeRequest, also later there, and by no other hook', async () => {
  const refusals: string[] = []
  const moving = pluginOf('moving', ({ hooks }) => {
    hooks.beforeRequest.tapPromise('believe', async (request) => {
      await new Promise(setImmediate)
      const from = request.headers['x-from']
      if (typeof from === 'string') request.setAddress(from)
      return undefined
    })
    const tooLate = (request: RequestContext): undefined => {
      try {
        request.setAddress('192.0.2.9')
      } catch (error) {
        refusals.push((error as Error).message)
      }
    }
    hooks.authenticate.tap('try', tooLate)
    hooks.admit.tap('try', tooLate)
  })
  const telling = pluginOf('telling', ({ routes }) =>
    routes((app, _options, done) => {
      app.get('/address', async ({ ctx }) => ctx.address)
      done()
    }),
  )
  const { kernel, address } = await listening([moving, telling])
  const asked = async (headers: Record<string, string>) => fetch(`${address}/address`, { headers })
  assert.is(await (await asked({ 'x-from': '192.0.2.7' })).text(), '192.0.2.7')
  assert.is(await (await asked({})).text(), '127.0.0.1')
  assert.is((await asked({ 'x-from': 'somewhere' })).status, 500)
  assert.is(refusals.length, 4)
  assert.match(refusals[0]!, /in beforeRequest only/)
  await kernel.stop()
})

test('a bare route neither relays nor waits longer, because it passes no hook', async () => {
  for (const config of [{ relay: true }, { relay: 'x-newer' }, { stallMs: null }, { upgrade: true }]) {
    const { kernel } = await kernelWith([
      pluginOf('bare', ({ routes }) =>
        routes(async (app) => void app.get('/here', { config }, async () => 'here'), { bare: true }),
      ),
    ])
    try {
      await kernel.inject('/here')
      assert.unreachable()
    } catch (error) {
      assert.match((error as Error).message, /The routes of the plugin "bare" cannot be mounted: .*\/here/)
    }
    await kernel.stop()
  }
})

for (const [where, prefix] of [
  ['under a prefix', '/fhir'],
  ['without a prefix', ''],
])
  test(`in an app of somebody else it is the same, ${where}`, async () => {
    const { plugin, handled } = house()
    const { kernel } = await kernelWith([
      relaying(async ({ body }) => ({ status: 200, body: await textOf(body!.take()) })),
      plugin as AnyPlugin,
    ])
    const host = fastify()
    host.register(kernel.fastify, { prefix: prefix! })
    const address = await host.listen({ port: 0, host: '127.0.0.1' })
    await kernel.start()
    assert.is(await (await post(address, '{"not":json', `${prefix}/far`)).text(), '{"not":json')
    assert.is(await (await post(address, '{}', `${prefix}/near`)).text(), 'handled')
    assert.equal(handled, [{}])
    await host.close()
  })

test.run()
