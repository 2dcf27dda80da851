/** A primary, or a client, that goes away in the middle of a request that a replica sends on: nothing is sent twice. */
// process: its own, because the collections that it asks for take longer the more others have left in memory
import { once } from 'node:events'
import { type IncomingMessage, request as send } from 'node:http'
import { createServer as createTcpServer, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Dispatcher } from 'undici'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { exchange } from '../../../plugins/cluster/relay/exchange.ts'
import { watchHeldMemory } from '../../support/held-memory.ts'
import { connectTo } from '../../support/raw-client.ts'
import { bytesOf, replicaOf, standIn } from '../../support/relaying-servers.ts'
import { until } from '../../support/until.ts'

const MB = 1024 * 1024

const post = (address: string, body: string | ReadableStream = 'x', signal?: AbortSignal) =>
  fetch(`${address}/far`, {
    method: 'POST',
    body,
    ...(signal && { signal }),
    ...(typeof body !== 'string' && { duplex: 'half' }),
  } as RequestInit)

const outcomeOf = async (answer: Response) => {
  const { issue } = (await answer.json()) as { issue: { code: string; diagnostics: string }[] }
  return [answer.status, answer.headers.get('retry-after'), issue[0]!.code, issue[0]!.diagnostics] as const
}
const isAway = ([status, retryAfter, code, text]: Awaited<ReturnType<typeof outcomeOf>>): void => {
  assert.equal([status, retryAfter, code], [503, '2', 'transient'])
  assert.match(text, /cannot be reached; nothing was changed/)
}
const isUnknown = ([status, retryAfter, code, text]: Awaited<ReturnType<typeof outcomeOf>>): void => {
  assert.equal([status, retryAfter, code], [503, null, 'transient'])
  assert.match(text, /may have been carried out/)
}

/** A TCP server that does with each connection what the test says. */
const tcp = async (onSocket: (socket: Socket, number: number) => void) => {
  const sockets: Socket[] = []
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined)
    sockets.push(socket)
    onSocket(socket, sockets.length)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    sockets,
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    stop() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

test('a primary that is not there is 503 with a time to try again; when it is back, so are changes', async () => {
  const primary = await standIn((_request, response) => response.end('made'))
  const { port } = new URL(primary.url)
  const { kernel, address } = await replicaOf(primary.url)
  assert.is(await (await post(address)).text(), 'made')
  await primary.stop()
  for (let at = 0; at < 3; at += 1) isAway(await outcomeOf(await post(address)))
  primary.server.listen(Number(port), '127.0.0.1')
  await once(primary.server, 'listening')
  assert.is(await (await post(address)).text(), 'made')
  await kernel.stop()
  await primary.stop()
})

for (const [when, kill] of [
  ['with the head', (socket: Socket) => socket.once('data', () => socket.destroy())],
  [
    'with the whole body',
    (socket: Socket) => {
      let heard = ''
      socket.on('data', (chunk) => {
        heard += chunk.toString()
        if (heard.endsWith('the end')) socket.resetAndDestroy()
      })
    },
  ],
  ['with part of an answer’s head', (socket: Socket) => socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nX-'))],
  ['with an answer that is none', (socket: Socket) => socket.once('data', () => socket.end('SSH-2.0-x\r\n\r\n'))],
] as const)
  test(`a primary that goes away ${when} is 503 that says it is unknown, and nothing is sent again`, async () => {
    const primary = await tcp(kill)
    const { kernel, address } = await replicaOf(primary.url)
    isUnknown(await outcomeOf(await post(address, 'the end')))
    assert.is(primary.sockets.length, 1)
    await kernel.stop()
    primary.stop()
  })

test('a primary that goes away in the middle of its answer ends the connection of the client', async () => {
  const primary = await tcp((socket) =>
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf')
      setImmediate(() => socket.destroy())
    }),
  )
  const { kernel, address } = await replicaOf(primary.url)
  const client = await connectTo(address)
  client.send('POST /far HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\n\r\nx')
  const received = await client.closed
  assert.match(received, /^HTTP\/1\.1 (200 OK[\s\S]*\r\n\r\nhalf$|503 )/)
  assert.is(primary.sockets.length, 1)
  await kernel.stop()
  primary.stop()
})

test('a connection that the primary closed while nobody used it is not used; one that it closes then is unknown', async () => {
  let answered = 0
  const primary = await tcp((socket) =>
    socket.on('data', () => {
      answered += 1
      // Reads the second request of a connection and does not answer it, as a process that ends.
      if (answered === 3) socket.destroy()
      else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
    }),
  )
  const { kernel, address } = await replicaOf(primary.url)
  assert.is(await (await post(address)).text(), 'ok')
  const gone = once(primary.sockets[0]!, 'close')
  primary.sockets[0]!.end()
  await gone
  assert.is(await (await post(address)).text(), 'ok')
  isUnknown(await outcomeOf(await post(address)))
  assert.equal([answered, primary.sockets.length], [3, 2])
  await kernel.stop()
  primary.stop()
})

/** A pool that fails as often as it is told, before or behind the first byte. */
const failing = (times: number, isSent = false) => {
  let tried = 0
  const started: unknown[] = []
  const controller = { abort: () => void started.push('aborted'), pause: () => undefined, resume: () => undefined }
  const pool = {
    dispatch(_options: unknown, handler: Dispatcher.DispatchHandler) {
      tried += 1
      const given = controller as unknown as Dispatcher.DispatchController
      const start = () => {
        try {
          handler.onRequestStart?.(given, {})
          started.push('started')
        } catch {
          started.push('refused')
        }
      }
      if (isSent) {
        start()
        start()
      }
      if (tried <= times) handler.onResponseError?.(given, new Error('lost'))
      else {
        start()
        handler.onResponseStart?.(given, 201, {})
      }
      return true
    },
  } as unknown as Pick<Dispatcher, 'dispatch'>
  const sending = { method: 'POST', path: '/', headers: {}, body: undefined, waitMs: 60_000 }
  const ask = () => exchange(pool, { ...sending, signal: new AbortController().signal })
  return { ask, started, tried: () => tried }
}

test('what was not sent is sent once more, and no third time', async () => {
  const first = failing(1)
  assert.equal([(await first.ask()).status, first.tried()], [201, 2])
  const twice = failing(2)
  await twice.ask().then(
    () => assert.unreachable(),
    (error) => assert.is(error.key, 'cluster/primary-away'),
  )
  assert.is(twice.tried(), 2)
})

test('what was sent is not sent again, neither by us nor by the pool', async () => {
  const { ask, started, tried } = failing(1, true)
  await ask().then(
    () => assert.unreachable(),
    (error) => assert.is(error.key, 'cluster/relay-unknown'),
  )
  assert.is(tried(), 1)
  assert.equal(started, ['started', 'refused'])
})

test('an answer that nobody takes any more ends the connection that it comes over', async () => {
  const { ask, started } = failing(0)
  const { body } = await ask()
  body.destroy()
  assert.equal(started, ['started', 'aborted'])
})

test('a primary that accepts and is silent is unknown after its time; one that takes no connection is away', async () => {
  const primary = await tcp(() => undefined)
  const { kernel, address } = await replicaOf(primary.url, { limits: { headMs: 100 } })
  isUnknown(await outcomeOf(await post(address)))
  assert.is(primary.sockets.length, 1)
  await kernel.stop()
  primary.stop()
})

test('an answer that stops is cut after its time', async () => {
  const primary = await tcp((socket) =>
    socket.once('data', () => void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf')),
  )
  const { kernel, address } = await replicaOf(primary.url, { limits: { silenceMs: 100 } })
  const client = await connectTo(address)
  client.send('POST /far HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\n\r\nx')
  let received: string | undefined
  void client.closed.then((text) => {
    received = text
  })
  // Sooner than a connection is cut on which nothing moves.
  await until(() => received !== undefined, 10_000, 'the end of the answer')
  assert.match(received ?? '', /^HTTP\/1\.1 200 OK[\s\S]*\r\n\r\nhalf$/)
  await kernel.stop()
  primary.stop()
})

test('more requests than may wait are refused at once, and none of them is sent', async () => {
  const held: (() => void)[] = []
  const primary = await standIn((_request, response) => void held.push(() => response.end('ok')))
  const { kernel, address } = await replicaOf(primary.url, { limits: { connections: 1, waiting: 1 } })
  const first = post(address)
  await until(() => held.length === 1, 5_000, 'the first request')
  // One of them waits, whichever arrives first.
  const others = [post(address), post(address)]
  const refused = await Promise.race(others)
  const [status, retryAfter, code, text] = await outcomeOf(refused)
  assert.equal([status, retryAfter, code], [503, '2', 'throttled'])
  assert.match(text, /nothing was changed/)
  assert.is(primary.asked.length, 1)
  held[0]!()
  assert.is(await (await first).text(), 'ok')
  await until(() => held.length === 2, 5_000, 'the one that waited')
  held[1]!()
  const statuses = (await Promise.all(others)).map((answer) => answer.status)
  assert.equal(statuses.sort(), [200, 503])
  // Its place is free again.
  const last = post(address)
  await until(() => held.length === 3, 5_000, 'a later request')
  held[2]!()
  assert.is((await last).status, 200)
  await kernel.stop()
  await primary.stop()
})

test('a request that waits too long for a connection is refused, and is not sent later', async () => {
  let end: (() => void) | undefined
  const paths: string[] = []
  const primary = await standIn(({ url }, response) => {
    paths.push(url!)
    if (url === '/far/held') {
      response.writeHead(200)
      response.write('held')
      end = () => response.end()
    } else response.end('ok')
  })
  const { kernel, address } = await replicaOf(primary.url, { limits: { connections: 1, headMs: 100 } })
  const held = await fetch(`${address}/far/held`, { method: 'POST', body: 'x' })
  const [status, retryAfter, code] = await outcomeOf(await fetch(`${address}/far/waits`, { method: 'DELETE' }))
  assert.equal([status, retryAfter, code], [503, '2', 'throttled'])
  end!()
  assert.is(await held.text(), 'held')
  assert.is(await (await fetch(`${address}/far/later`, { method: 'POST', body: 'x' })).text(), 'ok')
  assert.equal(paths, ['/far/held', '/far/later'])
  await kernel.stop()
  await primary.stop()
})

test('a client that leaves while the primary works, or in the middle of its body, takes its request along', async () => {
  const closed: string[] = []
  const primary = await standIn((request, response) => {
    const name = request.url!
    request.resume()
    response.on('close', () => void closed.push(`${name} ${response.writableFinished}`))
  })
  const { kernel, address, lines } = await replicaOf(primary.url)
  for (const [path, body] of [
    ['/far/works', 'x'.repeat(10)],
    ['/far/body', 'x'.repeat(3)],
  ] as const) {
    const client = await connectTo(address)
    client.send(`POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\n${body}`)
    await until(() => primary.asked.some(({ url }) => url === path), 5_000, path)
    client.destroy()
    await until(() => closed.includes(`${path} false`), 5_000, `the end of ${path}`)
  }
  assert.equal(
    lines.filter(({ level }) => level === 'error' || level === 'fatal'),
    [],
  )
  await kernel.stop()
  await primary.stop()
})

test('an answer is read from the primary no faster than the client takes it', async () => {
  const chunk = Buffer.alloc(64 * 1024)
  let sent = 0
  const primary = await standIn(async (_request, response) => {
    for (; sent < 64 * MB; sent += chunk.length) if (!response.write(chunk)) await once(response, 'drain')
    response.end()
  })
  const { kernel, address } = await replicaOf(primary.url)
  const asking = send(`${address}/far`).end()
  const [answer] = (await once(asking, 'response')) as [IncomingMessage]
  let seen = -1
  let looks = 0
  const isStill = (): boolean => {
    looks = sent === seen ? looks + 1 : 0
    seen = sent
    return looks === 20
  }
  await until(isStill, 20_000, 'the primary to wait')
  assert.ok(sent < 32 * MB, `${sent / MB} MB`)
  let bytes = 0
  for await (const part of answer as AsyncIterable<Buffer>) bytes += part.length
  assert.is(bytes, 64 * MB)
  await kernel.stop()
  await primary.stop()
})

test('a client that leaves in the middle of the answer ends it at the primary', async () => {
  let isClosed = false
  const primary = await standIn((_request, response) => {
    response.on('close', () => {
      isClosed = true
    })
    const more = (): void => {
      while (!isClosed && response.write(Buffer.alloc(64 * 1024)));
      response.once('drain', more)
    }
    more()
  })
  const { kernel, address } = await replicaOf(primary.url)
  const client = await connectTo(address)
  client.send('GET /far HTTP/1.1\r\nhost: a\r\n\r\n')
  await client.until('200 OK')
  client.destroy()
  await until(() => isClosed, 5_000, 'the end of the answer')
  await kernel.stop()
  await primary.stop()
})

test('an answer that comes before the end of the body is passed on', async () => {
  const primary = await standIn((_request, response) => {
    response.writeHead(413, { connection: 'close' })
    response.end('too large')
  })
  const { kernel, address } = await replicaOf(primary.url)
  const client = await connectTo(address)
  client.send(`POST /far HTTP/1.1\r\nhost: a\r\ncontent-length: ${MB}\r\n\r\n${'x'.repeat(1000)}`)
  const text = await client.closed
  assert.match(text, /^HTTP\/1\.1 413 [\s\S]*too large/)
  await kernel.stop()
  await primary.stop()
})

test('a slow sender is passed on piece by piece, and its pieces come back so', async () => {
  const primary = await standIn((request, response) => void request.pipe(response))
  const { kernel, address } = await replicaOf(primary.url)
  const client = await connectTo(address)
  client.send('POST /far HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n')
  for (const piece of ['one', 'two', 'three']) {
    client.send(`${piece.length}\r\n${piece}\r\n`)
    await client.until(piece)
  }
  client.send('0\r\n\r\n')
  await client.until('0\r\n\r\n')
  client.destroy()
  await kernel.stop()
  await primary.stop()
})

test('64 MB go up and come down in 20 MB of memory', async () => {
  const used = watchHeldMemory()
  let most = 0
  const primary = await standIn(async (request, response) => {
    let bytes = 0
    let looked = 0
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes - looked > 8 * MB) {
        looked = bytes
        most = Math.max(most, await used())
      }
      await new Promise(setImmediate)
      if (!response.write(chunk)) await once(response, 'drain')
    }
    response.end()
  })
  const { kernel, address } = await replicaOf(primary.url)
  const chunk = Buffer.alloc(64 * 1024)
  const before = await used()
  // Not fetch, which takes the answer behind the body only.
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
  const [answer] = await answered
  let bytes = 0
  for await (const part of answer as AsyncIterable<Buffer>) bytes += part.length
  assert.is(bytes, 64 * MB)
  assert.ok(most - before < 20 * MB, `${((most - before) / MB).toFixed(1)} MB`)
  await kernel.stop()
  await primary.stop()
})

test('a stop waits for what the primary still answers', async () => {
  const asked = Promise.withResolvers<() => void>()
  const primary = await standIn(async (request, response) => {
    await bytesOf(request)
    asked.resolve(() => response.end('late'))
  })
  const { kernel, address } = await replicaOf(primary.url)
  const answer = post(address)
  const end = await asked.promise
  const stopped = kernel.stop()
  end()
  assert.is(await (await answer).text(), 'late')
  await stopped
  await primary.stop()
})

test.run()
