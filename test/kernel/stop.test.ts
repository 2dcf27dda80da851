/** A graceful stop: what is in flight is finished, what is idle is closed, nothing new is taken, and it ends in time. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Kernel } from '../../kernel/index.ts'
import probes from '../../plugins/probes/index.ts'
import { createDeadlines, type Deadlines } from '../support/deadlines.ts'
import { kernelWith, pluginOf } from '../support/kernel-with.ts'
import { connectTo } from '../support/raw-client.ts'

const FINISH_MS = 8_000
const STOP_MS = 10_000
const get = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: test\r\n\r\n`

/** A kernel with /fast, and /slow which answers when the test says so. */
const slowKernel = async (deadlines?: Deadlines) => {
  const arrived = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<string>()
  const notes: string[] = []
  const slow = pluginOf('slow', ({ routes }) => {
    routes((app, _options, done) => {
      app.get('/fast', async () => 'fast')
      app.get('/slow', async () => {
        arrived.resolve()
        return answer.promise
      })
      done()
    })
    return { stop: async () => void notes.push('stopped') }
  })
  const bare = await kernelWith([slow, probes], {
    settings: { server: { bind: '127.0.0.1:0' } },
    ...(deadlines === undefined ? {} : { clock: deadlines.clock }),
  })
  return { ...bare, arrived: arrived.promise, answer: answer.resolve, notes }
}

/** Connections on which the first half of a request has arrived: neither idle nor in flight. */
const halfAsked = async (address: string, paths: readonly string[]) => {
  const clients = await Promise.all(paths.map(() => connectTo(address)))
  for (const client of clients) client.send(get('/fast'))
  await Promise.all(clients.map((client) => client.until('fast')))
  for (const [at, client] of clients.entries()) client.send(get(paths[at]!).slice(0, -2))
  // What was sent to the same process before this round trip has arrived after it.
  await (await fetch(`${address}/fast`)).text()
  return clients.map((client) => ({
    /** The answer to the other half. */
    finish: async () => {
      client.send('\r\n')
      return (await client.closed).replace(/^.*?fast(?=HTTP|$)/s, '')
    },
  }))
}

const listening = async (kernel: Kernel): Promise<string> => {
  const address = await kernel.listen()
  await kernel.start()
  return address
}

test('a request in flight is finished, an idle connection is closed and a new one refused; then plugins stop', async () => {
  const { kernel, arrived, answer, notes } = await slowKernel()
  const address = await listening(kernel)
  const idle = await connectTo(address)
  idle.send(get('/fast'))
  assert.match(await idle.until('fast'), /connection: keep-alive/i)
  const busy = await connectTo(address)
  busy.send(get('/slow'))
  await arrived
  const stopping = kernel.stop()
  await idle.closed
  try {
    await connectTo(address)
    assert.unreachable('a new connection was taken')
  } catch (error) {
    assert.is((error as NodeJS.ErrnoException).code, 'ECONNREFUSED')
  }
  assert.equal(notes, [])
  answer('at last')
  const received = await busy.closed
  assert.match(received, /^HTTP\/1\.1 200 OK\r\n/)
  assert.match(received, /\r\nconnection: close\r\n/i)
  assert.match(received, /at last$/)
  await stopping
  assert.equal(notes, ['stopped'])
  assert.is(kernel.phase, 'stopped')
})

test('a connection that becomes idle while others are in flight is closed too', async () => {
  const { kernel, arrived, answer, notes } = await slowKernel()
  const address = await listening(kernel)
  const busy = await connectTo(address)
  busy.send(get('/slow'))
  await arrived
  const [half] = await halfAsked(address, ['/fast'])
  const stopping = kernel.stop()
  assert.match(await half!.finish(), /^HTTP\/1\.1 503 /)
  assert.equal(notes, [], 'closed before the other request has its answer')
  answer('done')
  assert.match(await busy.closed, /done$/)
  await stopping
  assert.equal(notes, ['stopped'])
})

test('a request that arrives on an open connection while stopping is answered 503 with an outcome, and /livez 200', async () => {
  const { kernel, arrived, answer } = await slowKernel()
  const address = await listening(kernel)
  const busy = await connectTo(address)
  busy.send(get('/slow'))
  await arrived
  const [late, live, ready] = await halfAsked(address, ['/fast', '/livez', '/readyz'])
  const stopping = kernel.stop()
  const refused = await late!.finish()
  assert.match(refused, /^HTTP\/1\.1 503 /)
  assert.match(refused, /\r\ncontent-type: application\/fhir\+json/)
  assert.match(refused, /\r\nconnection: close\r\n/i)
  assert.match(refused, /\r\nretry-after: 1\r\n/)
  assert.match(refused, '"diagnostics":"The server is stopping."')
  assert.match(await live!.finish(), /^HTTP\/1\.1 200 /)
  assert.match(await ready!.finish(), /^HTTP\/1\.1 503 .*\r\n\r\n\{"status":"unavailable","reason":"stopping"\}$/s)
  answer('done')
  assert.match(await busy.closed, /done$/)
  await stopping
})

test('a request that does not end is cut at the deadline, and the whole stop takes ten seconds at most', async () => {
  const deadlines = createDeadlines()
  const { kernel, arrived, notes } = await slowKernel(deadlines)
  const address = await listening(kernel)
  const busy = await connectTo(address)
  busy.send(get('/slow'))
  await arrived
  const stopping = kernel.stop()
  assert.equal(deadlines.asked, [FINISH_MS, STOP_MS])
  await new Promise(setImmediate)
  assert.is(kernel.phase, 'stopping')
  deadlines.pass(FINISH_MS)
  assert.is(await busy.closed, '')
  await stopping
  assert.equal(notes, ['stopped'])
})

test('a plugin that fails to stop, or does not stop in time, is logged by name, and the next one is stopped', async () => {
  const deadlines = createDeadlines()
  const notes: string[] = []
  const hanging = Promise.withResolvers<void>()
  const { kernel, lines } = await kernelWith(
    [
      pluginOf('first', () => ({ stop: async () => void notes.push('first') })),
      pluginOf('hanging', () => ({
        stop() {
          hanging.resolve()
          return new Promise(() => undefined)
        },
      })),
      pluginOf('failing', () => ({ stop: () => Promise.reject(new Error('no')) })),
      pluginOf('last', () => ({ stop: async () => void notes.push('last') })),
    ],
    { clock: deadlines.clock },
  )
  await kernel.start()
  const stopping = kernel.stop()
  await hanging.promise
  assert.equal(notes, ['last'])
  deadlines.pass(STOP_MS)
  await stopping
  assert.equal(notes, ['last', 'first'])
  assert.equal(
    lines.filter(({ level }) => level === 'error').map(({ plugin, msg }) => [plugin, msg]),
    [
      ['failing', 'the plugin failed to stop'],
      ['hanging', 'the plugin did not stop in time'],
    ],
  )
})

test('requests through the handler of a bare server are finished before plugins stop; later ones get 503', async () => {
  const { kernel, arrived, answer, notes } = await slowKernel()
  const server = createServer(kernel.handler)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await kernel.start()
  const busy = fetch(`${address}/slow`)
  await arrived
  const stopping = kernel.stop()
  const late = await fetch(`${address}/fast`)
  assert.is(late.status, 503)
  assert.is(((await late.json()) as { resourceType: string }).resourceType, 'OperationOutcome')
  assert.equal(notes, [])
  answer('done')
  assert.is(await (await busy).text(), 'done')
  await stopping
  assert.equal(notes, ['stopped'])
  assert.is((await fetch(`${address}/fast`)).status, 503)
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

test('a request through the handler that does not end is cut at the deadline', async () => {
  const deadlines = createDeadlines()
  const { kernel, arrived } = await slowKernel(deadlines)
  const server = createServer(kernel.handler)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  await kernel.start()
  const busy = await connectTo(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  busy.send(get('/slow'))
  await arrived
  const stopping = kernel.stop()
  deadlines.pass(FINISH_MS)
  assert.is(await busy.closed, '')
  await stopping
  await new Promise((resolve) => server.close(resolve))
})

test('a client that went away does not hold the stop', async () => {
  const { kernel, arrived, answer, notes } = await slowKernel()
  const address = await listening(kernel)
  const busy = await connectTo(address)
  busy.send(get('/slow'))
  await arrived
  busy.destroy()
  await kernel.stop()
  assert.equal(notes, ['stopped'], 'while its request is still being answered')
  assert.equal(kernel.failedToStop, [])
  answer('nobody listens')
})

test.run()
