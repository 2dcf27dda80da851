/** A host that does something else before it passes a request on to `kernel.handler`, such as looking up a session. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import fastify from 'fastify'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { kernelWith, pluginOf } from '../support/kernel-with.ts'
import { connectTo } from '../support/raw-client.ts'

const get = (url: string): string => `GET ${url} HTTP/1.1\r\nhost: h.test\r\n\r\n`

interface PassedOn {
  readonly server: Server
  readonly address: string
  readonly stop: () => Promise<void>
  /** Ends the request to /slow. */
  readonly answer: () => void
  readonly isSlow: Promise<void>
}

/** `passOn` calls `pass` to give a request to the kernel. */
const hostThat = async (
  passOn: (request: IncomingMessage, response: ServerResponse, pass: () => void) => void,
): Promise<PassedOn> => {
  const slow = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<void>()
  const plugin = pluginOf('house', ({ routes }) =>
    routes((app, _options, done) => {
      app.get('/who', async ({ ctx }) => ({ url: ctx.url }))
      app.get('/slow', async () => {
        slow.resolve()
        await answer.promise
        return {}
      })
      done()
    }),
  )
  const { kernel } = await kernelWith([plugin])
  const server = createServer((request, response) =>
    passOn(request, response, () => kernel.handler(request, response)),
  ).listen(0, '127.0.0.1')
  await once(server, 'listening')
  await kernel.start()
  return {
    server,
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      await kernel.stop()
      server.close()
    },
    answer: answer.resolve,
    isSlow: slow.promise,
  }
}

for (const requests of [1, 2])
  test(`a client that leaves before ${requests} of its requests are passed on does not hold the stop`, async () => {
    const passes: (() => void)[] = []
    const arrived = Promise.withResolvers<void>()
    const { server, address, stop } = await hostThat((_request, _response, pass) => {
      if (passes.push(pass) === requests) arrived.resolve()
    })
    const closed = once(server, 'connection').then(([socket]) => once(socket, 'close'))
    const client = await connectTo(address)
    client.send(get('/who').repeat(requests))
    await arrived.promise
    client.destroy()
    await closed
    for (const pass of passes) pass()
    await stop()
  })

test('a client that leaves in a hook of a Fastify host does not hold its close', async () => {
  const { kernel } = await kernelWith([
    pluginOf('house', ({ routes }) => routes(async (app) => void app.get('/who', async () => ({})))),
  ])
  const host = fastify()
  const arrived = Promise.withResolvers<void>()
  const looked = Promise.withResolvers<void>()
  host.addHook('onRequest', async () => {
    arrived.resolve()
    await looked.promise
  })
  host.register(kernel.fastify, { prefix: '/fhir' })
  const address = await host.listen({ host: '127.0.0.1', port: 0 })
  const closed = once(host.server, 'connection').then(([socket]) => once(socket, 'close'))
  const client = await connectTo(address)
  client.send(get('/fhir/who'))
  await arrived.promise
  client.destroy()
  await closed
  looked.resolve()
  await looked.promise
  await host.close()
})

test('a client that leaves while its second request waits for the first does not hold the stop', async () => {
  const second = Promise.withResolvers<void>()
  const { address, stop, answer, isSlow } = await hostThat(({ url }, _response, pass) => {
    pass()
    if (url === '/who') second.resolve()
  })
  const client = await connectTo(address)
  client.send(get('/slow') + get('/who'))
  await Promise.all([isSlow, second.promise])
  client.destroy()
  await stop()
  answer()
})

for (const order of [
  [2, 1],
  [3, 1, 2],
  [3, 2, 1],
  [2, 3, 1],
  [4, 2, 3, 1],
])
  test(`pipelined requests that are passed on in the order ${order} are answered in their own`, async () => {
    const passes = new Map<number, () => void>()
    const { address, stop } = await hostThat(({ url }, _response, pass) => {
      passes.set(Number(url?.at(-1)), pass)
      if (passes.size === order.length) for (const n of order) passes.get(n)?.()
    })
    const client = await connectTo(address)
    const own = [...order].sort()
    client.send(own.map((n) => get(`/who?n=${n}`)).join(''))
    const text = await client.until(`?n=${own.length}`)
    assert.equal(
      text.match(/n=\d/g),
      own.map((n) => `n=${n}`),
    )
    client.destroy()
    await stop()
  })

test.run()
