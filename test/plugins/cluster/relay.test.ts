/** A replica sends a request to the primary: what goes on, what comes back, and who may say that he is a replica. */
import { gunzipSync, gzipSync } from 'node:zlib'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Usage } from '../../../kernel/index.ts'
import { makeMark } from '../../../plugins/cluster/relay/relay-mark.ts'
import { pluginOf } from '../../support/kernel-with.ts'
import { listening } from '../../support/listening.ts'
import { createManualClock } from '../../support/manual-clock.ts'
import { connectTo } from '../../support/raw-client.ts'
import { bytesOf, echo, keyFor, relayingAs, replicaOf, standIn } from '../../support/relaying-servers.ts'
import { until } from '../../support/until.ts'

const diagnosticsOf = async (answer: Response): Promise<string> => {
  const { issue } = (await answer.json()) as { issue: { diagnostics: string }[] }
  return issue[0]!.diagnostics
}

test('the request goes on with what it says of itself, and without what concerns its connection', async () => {
  const primary = await standIn((_request, response) => response.end())
  const { kernel, address } = await replicaOf(primary.url)
  const client = await connectTo(address)
  client.send(
    [
      'PUT /far/x%20y?a=1&b=%2F HTTP/1.1',
      'Host: fhir.example.org',
      'Authorization: Bearer token',
      'Cookie: a=1',
      'Cookie: b=2',
      'If-Match: W/"3"',
      'If-None-Exist: identifier=1',
      'Prefer: return=minimal',
      'X-Request-Id: asked-by-the-client',
      'Content-Type: application/fhir+json',
      'Connection: keep-alive, X-Secret',
      'X-Secret: of this connection',
      'Keep-Alive: timeout=5',
      'Proxy-Authorization: Basic x',
      'TE: trailers',
      'Upgrade: h2c',
      'Expect: 100-continue',
      'X-Forwarded-For: 192.0.2.66',
      'Forwarded: for=192.0.2.66',
      'Content-Length: 2',
      '\r\n',
    ].join('\r\n'),
  )
  await client.until('100 Continue')
  client.send('{}')
  await client.until('200 OK')
  client.destroy()
  const [{ method, url, headers }] = primary.asked as [(typeof primary.asked)[0]]
  assert.equal([method, url], ['PUT', '/far/x%20y?a=1&b=%2F'])
  const { 'x-relay': mark, ...others } = headers
  assert.match(String(mark), /^[0-9a-f-]{36} \d{13} 127\.0\.0\.1 [\w-]{43}$/)
  assert.equal(others, {
    host: 'fhir.example.org',
    connection: 'keep-alive',
    authorization: 'Bearer token',
    cookie: 'a=1; b=2',
    'if-match': 'W/"3"',
    'if-none-exist': 'identifier=1',
    prefer: 'return=minimal',
    'content-type': 'application/fhir+json',
    'content-length': '2',
    'x-request-id': 'asked-by-the-client',
  })
  await kernel.stop()
  await primary.stop()
})

test('a request whose header Connection names what it means is refused, and not sent on without it', async () => {
  const primary = await standIn((_request, response) => response.end())
  const { kernel, address } = await replicaOf(primary.url)
  for (const name of ['If-Match', 'authorization', 'content-type', 'Prefer', 'if-none-exist']) {
    const client = await connectTo(address)
    client.send(
      `POST /far HTTP/1.1\r\nhost: a\r\n${name}: text/plain\r\nconnection: close, ${name}\r\ncontent-length: 0\r\n\r\n`,
    )
    await client.until(`The header Connection names ${name.toLowerCase()}`)
    client.destroy()
  }
  assert.is(primary.asked.length, 0)
  await kernel.stop()
  await primary.stop()
})

test('the answer comes back with all of its headers but those of its connection; a redirect is not followed', async () => {
  const primary = await standIn((_request, response) => {
    response.writeHead(303, [
      ...['Location', 'https://app.example.org/callback?code=1', 'Set-Cookie', 'a=1; Path=/', 'Set-Cookie', 'b=2'],
      ...['ETag', 'W/"4"', 'Content-Type', 'text/html', 'Connection', 'X-Inside', 'X-Inside', '1'],
      ...['Keep-Alive', 'timeout=5', 'X-Request-Id', 'of the primary', 'Transfer-Encoding', 'chunked'],
    ])
    response.end('see there')
  })
  const { kernel, address } = await replicaOf(primary.url)
  const answer = await fetch(`${address}/far`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'x-request-id': 'mine' },
    body: 'x',
  })
  const { headers } = answer
  assert.equal([answer.status, await answer.text()], [303, 'see there'])
  assert.equal(
    ['location', 'etag', 'content-type', 'x-inside', 'x-request-id'].map((name) => headers.get(name)),
    ['https://app.example.org/callback?code=1', 'W/"4"', 'text/html', null, 'mine'],
  )
  assert.equal(headers.getSetCookie(), ['a=1; Path=/', 'b=2'])
  await kernel.stop()
  await primary.stop()
})

test('a primary behind a path, and a client that asks by a whole URL', async () => {
  const primary = await standIn((_request, response) => response.end())
  const { kernel, address } = await replicaOf(`${primary.url}/r4`)
  const client = await connectTo(address)
  client.send(`GET http://a/far?x=1 HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`)
  assert.match(await client.closed, /^HTTP\/1\.1 200 /)
  assert.is(primary.asked[0]!.url, '/r4/far?x=1')
  await kernel.stop()
  await primary.stop()
})

test('packed bodies go through as they are, both ways', async () => {
  const packed = gzipSync('{"resourceType":"Patient"}')
  const primary = await standIn(async (request, response) => {
    const body = await bytesOf(request)
    response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': body.length })
    response.end(body)
  })
  const { kernel, address } = await replicaOf(primary.url)
  const client = await fetch(`${address}/far`, {
    method: 'POST',
    headers: { 'content-encoding': 'gzip', 'content-type': 'application/fhir+json', 'accept-encoding': 'gzip' },
    body: packed,
  })
  assert.is(client.headers.get('content-length'), String(packed.length))
  assert.is(await client.text(), gunzipSync(packed).toString())
  assert.is(primary.asked[0]!.headers['content-encoding'], 'gzip')
  await kernel.stop()
  await primary.stop()
})

test('HEAD, 204 and 304 have no body, and the length that HEAD tells is kept', async () => {
  const primary = await standIn(({ url }, response) => {
    const status = Number(url!.split('/').pop()) || 200
    response.writeHead(status, { etag: 'W/"1"', ...(status === 200 && { 'content-length': '1234' }) })
    response.end()
  })
  const { kernel, address } = await replicaOf(primary.url, { limits: { connections: 1, waiting: 0 } })
  for (const [method, path, length] of [
    ['HEAD', '/far', '1234'],
    ['DELETE', '/far/204', null],
    ['GET', '/far/304', null],
    ['HEAD', '/far/304', null],
  ] as const) {
    const answer = await fetch(address + path, { method })
    assert.equal([answer.headers.get('content-length'), answer.headers.get('etag')], [length, 'W/"1"'], method + path)
    assert.is(await answer.text(), '')
  }
  await kernel.stop()
  await primary.stop()
})

test('a wish for another protocol is dropped: the answer is plain HTTP', async () => {
  const primary = await standIn((request, response) => response.end(`upgrade: ${request.headers.upgrade}`))
  const { kernel, address } = await replicaOf(primary.url)
  const client = await connectTo(address)
  client.send(
    'GET /far HTTP/1.1\r\nhost: a\r\nconnection: Upgrade, close\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  )
  assert.match(await client.closed, /^HTTP\/1\.1 200 [\s\S]*upgrade: undefined/)
  await kernel.stop()
  await primary.stop()
})

test('the primary takes the address of the client from the replica, and both mark the request', async () => {
  const used: Record<'primary' | 'replica', Usage[]> = { primary: [], replica: [] }
  const noting = (name: keyof typeof used) =>
    pluginOf('noting', ({ hooks }) => {
      hooks.beforeRequest.tap('move', (request) => {
        if (name === 'replica') request.setAddress('192.0.2.7')
        return undefined
      })
      hooks.meter.tap('note', (usage) => void used[name].push(usage))
    })
  const primary = await listening([relayingAs(undefined), echo, noting('primary')])
  const replica = await replicaOf(primary.address, { plugins: [noting('replica')] })
  const answer = await fetch(`${replica.address}/far?x=1`, { method: 'POST', body: 'hello' })
  const told = (await answer.json()) as Record<string, unknown>
  assert.equal(told, {
    handled: 'POST',
    address: '192.0.2.7',
    relayed: 'received',
    id: answer.headers.get('x-request-id'),
    body: 'hello',
  })
  await until(() => used.primary.length + used.replica.length === 2, 5_000, 'both to be told')
  assert.is(used.primary[0]!.relayed, 'received')
  assert.is(used.replica[0]!.relayed, 'sent')
  // What is not sent on is not marked.
  await (await fetch(`${replica.address}/near`)).text()
  await until(() => used.replica.length === 2, 5_000, 'the second request')
  assert.is(used.replica[1]!.relayed, undefined)
  await replica.kernel.stop()
  await primary.kernel.stop()
})

test('a refusal of the replica is not sent on', async () => {
  const primary = await standIn((_request, response) => response.end())
  const { kernel, address } = await replicaOf(primary.url, {
    plugins: [
      pluginOf('closed', ({ hooks }) =>
        hooks.admit.tap('refuse', () => {
          throw Object.assign(new Error('no'), {})
        }),
      ),
    ],
  })
  assert.is((await fetch(`${address}/far`, { method: 'POST', body: 'x' })).status, 500)
  assert.is(primary.asked.length, 0)
  await kernel.stop()
  await primary.stop()
})

const REQUEST = { method: 'POST', url: '/near', id: 'r1' }

test('X-Relay that no replica made for this very request is 400, on every server', async () => {
  const clock = createManualClock()
  const relayed = { server: 's1', at: clock.now(), address: '192.0.2.9' }
  const key = keyFor('relay')
  const good = makeMark(key, relayed, REQUEST)
  const [server, at, , mac] = good.split(' ')
  const bad = {
    'another key': makeMark(keyFor('guess'), relayed, REQUEST),
    'another method': makeMark(key, relayed, { ...REQUEST, method: 'PUT' }),
    'another URL': makeMark(key, relayed, { ...REQUEST, url: '/near?x' }),
    'another id': makeMark(key, relayed, { ...REQUEST, id: 'r2' }),
    'another address': `${server} ${at} 192.0.2.10 ${mac}`,
    'another server': `s2 ${at} 192.0.2.9 ${mac}`,
    'another time': `${server} ${Number(at) + 1} 192.0.2.9 ${mac}`,
    'no MAC': `${server} ${at} 192.0.2.9`,
    'a short MAC': `${server} ${at} 192.0.2.9 ${mac?.slice(1)}`,
    'no address': makeMark(key, { ...relayed, address: '1.2.3' }, REQUEST),
    twice: `${good}, ${good}`,
    nothing: '',
  }
  const primary = await listening([relayingAs(undefined), echo], { clock })
  const replica = await replicaOf('http://127.0.0.1:1', { clock })
  const send = (base: string, mark: string) =>
    fetch(`${base}/near`, { method: 'POST', headers: { 'x-relay': mark, 'x-request-id': 'r1' }, body: 'x' })
  for (const [name, mark] of Object.entries(bad))
    for (const base of [primary.address, replica.address]) {
      const answer = await send(base, mark)
      assert.is(answer.status, 400, name)
      assert.match(await diagnosticsOf(answer), /X-Relay was not made/)
    }
  assert.match(await (await send(primary.address, good)).text(), /"address":"192\.0\.2\.9","relayed":"received"/)
  await clock.advance(60_000)
  assert.is((await send(primary.address, good)).status, 200)
  await clock.advance(1)
  const old = await send(primary.address, good)
  assert.equal([old.status, /clocks/.test(await diagnosticsOf(old))], [400, true])
  const early = makeMark(key, { ...relayed, at: clock.now() + 60_001 }, REQUEST)
  assert.is((await send(primary.address, early)).status, 400)
  await primary.kernel.stop()
  await replica.kernel.stop()
})

test('a request that a replica sent to a replica is 503, and goes no further', async () => {
  const primary = await standIn((_request, response) => response.end())
  const last = await replicaOf(primary.url)
  const first = await replicaOf(last.address)
  const answer = await fetch(`${first.address}/far`, { method: 'POST', body: 'x' })
  assert.is(answer.status, 503)
  assert.match(await diagnosticsOf(answer), /Check primary_url/)
  assert.is(primary.asked.length, 0)
  await first.kernel.stop()
  await last.kernel.stop()
  await primary.stop()
})

test('a replica whose primary_url is its own address ends at the first turn', async () => {
  const primary = await standIn((_request, response) => response.end())
  const port = new URL(primary.url).port
  await primary.stop()
  const { kernel } = await replicaOf(primary.url)
  // The same kernel behind the address that it sends to.
  const behind = await standIn((request, response) => kernel.handler(request, response))
  const again = await replicaOf(behind.url)
  assert.is((await fetch(`${again.address}/far`, { method: 'POST', body: port })).status, 503)
  assert.is(behind.asked.length, 1)
  await again.kernel.stop()
  await behind.stop()
  await kernel.stop()
})

test.run()
