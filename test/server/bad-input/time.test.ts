/** Clients that send or read too slowly, with the time limits of a connection made short. */
// database: sqlite, because what is refused or cut does not reach the database
import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin } from '../../../kernel/index.ts'
import { CONNECTION_LIMITS } from '../../../kernel/listen.ts'
import { exchange, openSocket, readAnswers } from '../../support/raw-http.ts'
import { assertRefused, assertServes } from '../../support/refused.ts'
import { basic, serverWith, type TestServer } from '../../support/server-with.ts'

const LIMITS = { headersMs: 400, requestMs: 800, checkMs: 50, keepAliveMs: 60_000, stallMs: 700, lingerMs: 200 }
const LATE_MS = 5_000 // a busy machine may be late; a limit that is missing never comes
const MEGA = 1024 * 1024
const TIMEOUT = { status: 408, code: 'timeout' } as const
const POST = 'POST /Patient HTTP/1.1\r\nHost: x\r\nContent-Type: application/fhir+json\r\n'

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** How many requests were given up because their client went away. */
let abandoned = 0

/** Takes twice as long as a connection may stand still, if asked to; counts who left. */
const ponder = definePlugin({
  name: 'ponder',
  setup({ hooks }) {
    hooks.beforeRequest.tapPromise('think', async ({ headers, signal }) => {
      signal.addEventListener('abort', () => {
        abandoned += 1
      })
      if (headers['x-think'] !== undefined) await wait(LIMITS.stallMs * 2)
      return undefined
    })
  },
})

let server: TestServer
let base = ''
test.before(async () => {
  server = await serverWith({
    plugins: [...basic, ponder],
    limits: LIMITS,
    // No thread reads the documents: how they are stored is not what is tested.
    settings: { server: { bind: '127.0.0.1:0' }, fhir: { large_body_bytes: 64 * MEGA } },
  })
  base = await server.listen()
})
test.after(() => server.stop())

test('the limits of a real server are within what is promised (rows 35 and 36)', () => {
  const { headersMs, requestMs, checkMs, lingerMs, stallMs } = CONNECTION_LIMITS
  assert.ok(requestMs + checkMs + lingerMs <= 30_000)
  assert.ok(headersMs + checkMs + lingerMs <= 15_000)
  assert.ok(stallMs <= 60_000)
})

// Node's parser hands over the bytes of chunks, never their announced size, so a size above any limit is refused by the time
// limit of a request, or by max_body_bytes when that many bytes have come, and not by its number.
test('a chunk that announces more than any body may have is answered 408 and the connection closed (row 41)', async () => {
  for (const size of ['FFFFFFFFFFFFFFFF', 'FFFFFFFF']) {
    const { answers, closed } = await exchange(base, `${POST}Transfer-Encoding: chunked\r\n\r\n${size}\r\n{"res`)
    assert.is(answers.length, 1, size)
    assertRefused(answers[0]!, TIMEOUT, size)
    assert.ok(closed, size)
  }
  await assertServes(server, 'a huge chunk')
})

test('a body that stops before its end is answered 408 and the connection closed (row 35)', async () => {
  for (const [about, head] of [
    ['a length', `${POST}Content-Length: 100\r\n\r\n{"resourceType"`],
    ['a length and nothing', `${POST}Content-Length: 100\r\n\r\n`],
    ['chunks', `${POST}Transfer-Encoding: chunked\r\n\r\n5\r\n{"res`],
    ['a chunk of 16 exabytes (row 41)', `${POST}Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\n{"res`],
    ['gzip', `${POST}Content-Encoding: gzip\r\nContent-Length: 100\r\n\r\n\x1f\x8b\x08`],
    ['a good request before', `GET /livez HTTP/1.1\r\nHost: x\r\n\r\n${POST}Content-Length: 100\r\n\r\n{`],
  ] as const) {
    const started = performance.now()
    const { answers, closed } = await exchange(base, head)
    assertRefused(answers.at(-1)!, TIMEOUT, about)
    assert.ok(closed, about)
    assert.ok(performance.now() - started < LATE_MS, about)
  }
  await assertServes(server, 'row 35')
})

test('a client that leaves in the middle of its body is no error of the server (row 35)', async () => {
  for (const head of [
    `${POST}Content-Length: 100\r\n\r\n{"res`,
    `${POST}Transfer-Encoding: chunked\r\n\r\n5\r\n{"res`,
    `${POST}Content-Encoding: gzip\r\nContent-Length: 100\r\n\r\n\x1f\x8b\x08`,
  ]) {
    const left = await openSocket(base)
    left.write(Buffer.from(head, 'latin1'))
    await wait(50)
    left.resetAndDestroy()
    const ended = await openSocket(base)
    ended.write(Buffer.from(head, 'latin1'))
    await wait(50)
    ended.end()
  }
  await wait(100)
  await assertServes(server, 'a client that left')
})

/** Writes one byte after the other until the connection closes; tells how long that took. */
const drip = (socket: Socket, text: string): Promise<number> =>
  new Promise((resolve) => {
    const started = performance.now()
    let at = 0
    const timer = setInterval(() => {
      if (text !== '') socket.write(text[at % text.length] as string)
      at += 1
    }, 100)
    socket.resume().on('close', () => {
      clearInterval(timer)
      resolve(performance.now() - started)
    })
  })

test('500 connections that drip their heads are closed while others are served (row 36)', async () => {
  const sockets = await Promise.all(Array.from({ length: 500 }, () => openSocket(base)))
  const dripping = sockets.map((socket, at) =>
    drip(socket, at % 3 === 0 ? '' : 'GET / HTTP/1.1\r\nX: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyy'),
  )
  let open = true
  const all = Promise.all(dripping).finally(() => {
    open = false
  })
  const others: number[] = []
  while (open) {
    const started = performance.now()
    assert.is((await fetch(`${base}/metadata`)).status, 200)
    others.push(performance.now() - started)
    await wait(20)
  }
  assert.ok(Math.max(...(await all)) < LATE_MS)
  // The machine may stand still for a moment; a server that starves others lets most of them wait.
  const waited = others.sort((one, other) => one - other).at(Math.floor(others.length * 0.9)) as number
  assert.ok(waited < 1_000, `one client in ten waited ${waited} ms`)
  assert.ok(Math.max(...others) < LATE_MS)
  await assertServes(server, 'row 36')
})

test('a body that drips is cut although it moves (row 36)', async () => {
  const socket = await openSocket(base)
  socket.write(`${POST}Content-Length: 1000\r\n\r\n`)
  assert.ok((await drip(socket, ' ')) < LATE_MS)
  await assertServes(server, 'row 36')
})

/** Bytes of documents, the oldest first: the newer three are more than the 16 megabytes that fit into a page of history. */
const DOCUMENTS = [6, 5.5 * MEGA, 5.5 * MEGA, 5.5 * MEGA]
let stored = 0
/** Stores the documents, once. */
const fill = async (): Promise<void> => {
  for (; stored < DOCUMENTS.length; stored += 1) {
    const data = randomBytes(DOCUMENTS[stored] as number).toString('base64')
    const body = `{"resourceType":"Binary","contentType":"application/pdf","data":"${data}"}`
    const headers = { 'content-type': 'application/fhir+json', prefer: 'return=minimal' }
    assert.is((await fetch(`${base}/Binary`, { method: 'POST', headers, body })).status, 201)
  }
}
const ANSWER = 2 * 5.5 * MEGA * (4 / 3) // bytes of the data in an answer with two documents, more than sockets hold
const HISTORY = 'GET /Binary/_history?_count=2 HTTP/1.1\r\nHost: x\r\n\r\n'
/** Compressing tens of megabytes of random data takes a second, and is not the subject here. */
const PLAIN = { headers: { 'accept-encoding': 'identity' } }

test('a client that asks for much and reads nothing is cut, and costs one answer of memory (row 37)', async () => {
  await fill()
  await fetch(`${base}/Binary/_history?_count=2`, PLAIN).then((answer) => answer.arrayBuffer())
  const before = process.memoryUsage().rss
  let most = 0
  const socket = await openSocket(base)
  const closed = new Promise((resolve) => socket.on('close', resolve))
  socket.pause()
  // A hundred answers of 15 megabytes, asked for in seven kilobytes.
  abandoned = 0
  socket.write(HISTORY.repeat(100))
  const until = performance.now() + LATE_MS
  while (abandoned === 0 && performance.now() < until) {
    most = Math.max(most, process.memoryUsage().rss - before)
    await wait(50)
  }
  assert.is(abandoned, 1)
  let received = 0
  socket.on('data', (chunk) => {
    received += chunk.length
  })
  socket.resume()
  await closed
  assert.ok(received < ANSWER, `${received} bytes came`)
  assert.ok(most < 256 * MEGA, `${most / MEGA} MB more`)
  await assertServes(server, 'row 37')
})

test('a client that reads slowly but steadily gets all of it (row 37)', async () => {
  await fill()
  const socket = await openSocket(base)
  const chunks: Buffer[] = []
  const closed = new Promise((resolve) => socket.on('close', resolve))
  socket.on('data', (chunk) => {
    chunks.push(chunk)
    socket.pause()
    setTimeout(() => socket.resume(), 5)
  })
  const started = performance.now()
  socket.write(HISTORY.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'))
  await closed
  assert.ok(performance.now() - started > LIMITS.stallMs)
  const [answer] = readAnswers(Buffer.concat(chunks).toString('latin1'))
  assert.is(answer?.statusCode, 200)
  assert.ok((answer?.body.length ?? 0) > 8 * MEGA)
})

test('a page of history ends when it is large, and the next one goes on (row 37)', async () => {
  await fill()
  const seen = new Set<string>()
  const lengths: number[] = []
  let pages = 0
  for (let url: string | undefined = `${base}/Binary/_history`; url !== undefined; pages += 1) {
    const page = (await (await fetch(url, PLAIN)).json()) as {
      link: { relation: string; url: string }[]
      entry: { fullUrl: string; resource: { data: string } }[]
    }
    for (const { fullUrl, resource } of page.entry) {
      lengths.push(resource.data.length)
      seen.add(fullUrl)
    }
    url = page.link.find(({ relation }) => relation === 'next')?.url.replace('http://x', base)
  }
  assert.is(seen.size, 4)
  assert.equal(
    lengths,
    DOCUMENTS.toReversed().map((bytes) => Math.ceil(bytes / 3) * 4),
  )
  assert.is(pages, 2)
})

test('a slow handler is not the client’s fault: its connection stays (row 37)', async () => {
  const answer = await fetch(`${base}/metadata`, { headers: { 'x-think': '1' } })
  assert.is(answer.status, 200)
})

test.run()
