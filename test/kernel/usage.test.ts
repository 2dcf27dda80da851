/** What `meter` is told: the bytes of each request as they crossed the connection, once, whoever ends it. */
import { once } from 'node:events'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { defineError, type Usage } from '../../kernel/index.ts'
import { kernelWith, pluginOf } from '../support/kernel-with.ts'
import { createManualClock } from '../support/manual-clock.ts'
import { connectTo } from '../support/raw-client.ts'
import { until } from '../support/until.ts'

const Cancelled = defineError('house/cancelled', 503, 'timeout', 'The work was cancelled.')

const place = async () => {
  const used: Usage[] = []
  const arrived = Promise.withResolvers<void>()
  const plugin = pluginOf('house', ({ hooks, routes }) => {
    hooks.meter.tap('note', (usage) => void used.push(usage))
    routes((app, _options, done) => {
      app.get('/page/:name', async () => 'page')
      app.post('/echo', async ({ body }) => body)
      app.route({
        method: ['GET', 'POST'],
        url: '/cancelled',
        handler: async ({ ctx }) => {
          const cancelled = once(ctx.signal, 'abort')
          arrived.resolve()
          await cancelled
          throw Cancelled()
        },
      })
      app.get('/never', () => {
        arrived.resolve()
        return new Promise(() => undefined)
      })
      done()
    })
  })
  const probe = pluginOf('doctor', ({ routes }) => {
    routes(
      (app, _options, done) => {
        app.get('/alive', async () => 'alive')
        done()
      },
      { bare: true },
    )
  })
  const { kernel } = await kernelWith([plugin, probe], { settings: { server: { bind: '127.0.0.1:0' } } })
  const address = await kernel.listen()
  await kernel.start()
  return { kernel, address, used, arrived: arrived.promise }
}
const HEAD = 'host: a\r\n\r\n'

test('requests of one connection are charged what crossed it, heads included, pipelined or chunked', async () => {
  const { kernel, address, used } = await place()
  const client = await connectTo(address)
  const get = `GET /page/one HTTP/1.1\r\n${HEAD}`
  const post = `POST /echo HTTP/1.1\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\nhost: a\r\n\r\n5\r\nhello\r\n0\r\n\r\n`
  client.send(get)
  const first = await client.until('page')
  assert.is(used[0]?.bytesIn, get.length)
  assert.is(used[0]?.bytesOut, first.length)
  client.send(post)
  const second = (await client.until('hello')).slice(first.length)
  assert.is(used[1]?.bytesIn, post.length)
  assert.is(used[1]?.bytesOut, second.length)
  // What came in one piece is charged to the first of it; the sum is exact.
  client.send(get.replace('one', 'two').repeat(2))
  await until(() => used.length === 4, 5_000, 'four requests')
  // The last answer is on its way: the connection ends behind it.
  client.send(`GET /page/last HTTP/1.1\r\nconnection: close\r\n${HEAD}`)
  const all = await client.closed
  const sum = (key: 'bytesIn' | 'bytesOut'): number => used.reduce((total, usage) => total + usage[key], 0)
  await until(() => used.length === 5, 5_000, 'the last request')
  assert.is(
    sum('bytesIn'),
    get.length * 3 + post.length + get.replace('one', 'last').length + 'connection: close\r\n'.length,
  )
  assert.is(sum('bytesOut'), all.length)
  assert.equal(
    used.map(({ request }) => request.route),
    ['/page/:name', '/echo', '/page/:name', '/page/:name', '/page/:name'],
  )
  await kernel.stop()
})

test('what a probe moves on a connection is charged to nobody, and not to the request behind it', async () => {
  const { kernel, address, used } = await place()
  const client = await connectTo(address)
  client.send(`GET /alive HTTP/1.1\r\n${HEAD}`)
  const first = await client.until('alive')
  const get = `GET /page/one HTTP/1.1\r\n${HEAD}`
  client.send(get)
  const all = await client.until('page')
  await until(() => used.length === 1, 5_000, 'the request')
  assert.is(used[0]?.bytesIn, get.length)
  assert.is(used[0]?.bytesOut, all.length - first.length)
  await kernel.stop()
})

test('a client that leaves before its answer is charged once, as 499', async () => {
  const { kernel, address, used, arrived } = await place()
  const client = await connectTo(address)
  client.send(`GET /never HTTP/1.1\r\n${HEAD}`)
  await arrived
  client.destroy()
  await until(() => used.length > 0, 5_000, 'the charge')
  await kernel.stop()
  assert.equal(
    used.map(({ status, bytesIn, bytesOut }) => ({ status, bytesIn, bytesOut })),
    [{ status: 499, bytesIn: 32, bytesOut: 0 }],
  )
})

test('work that is cancelled because its client has left is charged as 499', async () => {
  const { kernel, address, used, arrived } = await place()
  const client = await connectTo(address)
  client.send(`GET /cancelled HTTP/1.1\r\n${HEAD}`)
  await arrived
  client.end()
  assert.is(await client.closed, '')
  await until(() => used.length > 0, 5_000, 'the charge')
  await kernel.stop()
  assert.equal(
    used.map(({ status }) => status),
    [499],
  )
})

test('work that is cancelled because its client has closed its side only is answered, and charged as what it got', async () => {
  const { kernel, address, used, arrived } = await place()
  const client = await connectTo(address)
  client.send(`POST /cancelled HTTP/1.1\r\ncontent-length: 0\r\n${HEAD}`)
  await arrived
  client.end()
  assert.match(await client.closed, /^HTTP\/1.1 503 /)
  await until(() => used.length > 0, 5_000, 'the charge')
  await kernel.stop()
  assert.equal(
    used.map(({ status }) => status),
    [503],
  )
})

test('the duration is that of the kernel’s clock, from the head of the request to the end of the answer', async () => {
  const clock = createManualClock()
  const durations: number[] = []
  const plugin = pluginOf('house', ({ hooks, routes }) => {
    hooks.meter.tap('note', ({ duration }) => void durations.push(duration))
    routes((app, _options, done) => {
      app.get('/slow', async () => {
        await clock.advance(1_500)
        return 'done'
      })
      done()
    })
  })
  const { kernel } = await kernelWith([plugin], { clock })
  await kernel.start()
  assert.is((await kernel.inject('/slow')).body, 'done')
  assert.equal(durations, [1_500])
  await kernel.stop()
})

test('an address that is nobody’s has no route, and its text is in none', async () => {
  const { kernel, used } = await place()
  await kernel.inject('/secret-path?secret=query')
  assert.is(used[0]?.status, 404)
  assert.is(used[0]?.request.route, undefined)
  await kernel.stop()
})

test.run()
