/** What ends a connection waits for the answers to the requests before it, for a limited time. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createDeadlines } from '../support/deadlines.ts'
import { pluginOf } from '../support/kernel-with.ts'
import { listening } from '../support/listening.ts'
import { connectTo } from '../support/raw-client.ts'
import { openSocket } from '../support/raw-http.ts'
import { until } from '../support/until.ts'
import { askForWebSocket } from '../support/websocket.ts'

const LARGE = 8_000_000

const CONNECT = 'CONNECT a:80 HTTP/1.1\r\nhost: a:80\r\n\r\n'
const POST = 'POST /slow HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n'
const GET = 'GET /slow HTTP/1.1\r\nhost: a\r\n\r\n'

/** A route that answers when it is told to, and says when a request of it arrived and was given up. */
const slow = (body = 'slow') => {
  const told = Promise.withResolvers<void>()
  const seen = { arrived: 0, givenUp: 0 }
  const plugin = pluginOf('slow', ({ routes }) =>
    routes((app, _options, done) => {
      app.route({
        method: ['GET', 'POST'],
        url: '/slow',
        async handler({ ctx }) {
          seen.arrived += 1
          ctx.signal.addEventListener('abort', () => {
            seen.givenUp += 1
          })
          await told.promise
          return body
        },
      })
      app.get('/sockets', { config: { upgrade: true } }, async () => 'no, thanks')
      done()
    }),
  )
  return { plugin, seen, tell: told.resolve }
}

const statusesOf = (text: string): readonly string[] => text.match(/(?<=HTTP\/1\.1 )\d+/g) ?? []

for (const [what, bytes, status] of [
  ['bytes that are no request', 'garbage\r\n\r\n', '400'],
  ['CONNECT', CONNECT, '405'],
  ['an expectation', 'GET /slow HTTP/1.1\r\nhost: a\r\nexpect: foo\r\n\r\n', '417'],
  ['an upgrade', askForWebSocket('/sockets'), '200'],
  ['an upgrade that is refused', askForWebSocket('/sockets', { 'sec-websocket-version': '8' }), '426'],
] as const) {
  test(`${what} is answered after what is in progress, also behind a large answer`, async () => {
    const { plugin, seen, tell } = slow('x'.repeat(LARGE))
    const { kernel, address } = await listening([plugin])
    const client = await connectTo(address)
    client.send(POST + GET + bytes)
    await until(() => seen.arrived === 1, 5_000, 'the first request')
    tell()
    const text = await client.closed
    assert.equal(statusesOf(text), ['200', '200', status])
    assert.ok(text.length > LARGE * 2)
    await kernel.stop()
  })

  test(`${what} waits no longer than its time`, async () => {
    const { plugin, seen } = slow()
    const { kernel, address } = await listening([plugin], { limits: { lastMs: 100 } })
    const client = await connectTo(address)
    client.send(POST + bytes)
    if (status === '417') {
      // It has a response of its own, and waits as every request does.
      await until(() => seen.arrived === 1, 5_000, 'the request')
      client.destroy()
    } else assert.is(await client.closed, '')
    await kernel.stop()
  })
}

test('a change whose client ends its side is answered, and its signal is aborted; a read is given up', async () => {
  const { plugin, seen, tell } = slow()
  const { kernel, address } = await listening([plugin])
  const read = await openSocket(address)
  read.resume().end(GET)
  await until(() => seen.givenUp === 1, 5_000, 'the end of the read')
  const change = await openSocket(address)
  let text = ''
  change.on('data', (chunk) => {
    text += chunk
  })
  const closed = new Promise((resolve) => change.once('close', resolve))
  change.end(POST)
  await until(() => seen.givenUp === 2, 5_000, 'the end of the client')
  tell()
  await closed
  assert.equal(statusesOf(text), ['200'])
  await kernel.stop()
})

test('a change whose client ends its side is cut after the time for last answers', async () => {
  const { plugin } = slow()
  const { kernel, address } = await listening([plugin], { limits: { lastMs: 100 } })
  const change = await openSocket(address)
  const closed = new Promise((resolve) => change.once('close', resolve))
  change.resume().end(POST)
  await closed
  await kernel.stop()
})

test('a stop cuts a connection behind CONNECT 8 seconds after it began', async () => {
  const { plugin, seen } = slow()
  const deadlines = createDeadlines()
  const { kernel, address } = await listening([plugin], { clock: deadlines.clock })
  const client = await connectTo(address)
  client.send(POST + CONNECT)
  await until(() => seen.arrived === 1, 5_000, 'the request')
  const stopping = kernel.stop()
  await new Promise(setImmediate)
  deadlines.pass(8_000)
  assert.is(await client.closed, '')
  await stopping
})

test('a client that resets its connection behind CONNECT does the server no harm', async () => {
  const { plugin, seen, tell } = slow()
  const { kernel, address } = await listening([plugin])
  const client = await openSocket(address)
  client.write(POST + CONNECT)
  await until(() => seen.arrived === 1, 5_000, 'the request')
  client.resetAndDestroy()
  await until(() => seen.givenUp === 1, 5_000, 'the end of the client')
  tell()
  const other = await connectTo(address)
  other.send(GET)
  assert.match(await other.until('slow'), '200')
  other.destroy()
  await kernel.stop()
})

test.run()
