/** The load generator counts what was answered, and nothing else. */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { load, readAnswer, toGet, toSend } from './client.ts'

const withServer = async (answer: RequestListener, work: (address: string) => Promise<void>): Promise<void> => {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

test('an answer is read when all of it is there', () => {
  const whole = Buffer.from('HTTP/1.1 201 Created\r\netag: W/"1"\r\nContent-Length: 5\r\n\r\nhello')
  for (let length = 0; length < whole.length; length += 1)
    assert.is(readAnswer(whole.subarray(0, length)), undefined, `${length} bytes`)
  const answer = readAnswer(whole)
  assert.is(answer?.status, 201)
  assert.is(whole.toString('utf8', answer?.bodyStart, answer?.end), 'hello')
})

test('an answer without a body needs no length, any other does', () => {
  assert.is(readAnswer(Buffer.from('HTTP/1.1 204 No Content\r\netag: W/"2"\r\n\r\n'))?.status, 204)
  assert.throws(() => readAnswer(Buffer.from('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n')))
})

test('as many requests are sent as were asked for, over as many connections, with their bodies', async () => {
  const bodies: string[] = []
  const sockets = new Set<unknown>()
  const answer: RequestListener = (request, response) => {
    sockets.add(request.socket)
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      bodies.push(body)
      response.end('x'.repeat(100_000))
    })
  }
  await withServer(answer, async (address) => {
    let at = 0
    const next = () => toSend(address, 'POST', '/Patient', `body ${at++}`)
    const { done, at: latency, perSecond } = await load({ address, connections: 4, requests: 20, next })
    assert.is(done, 20)
    assert.equal(bodies.sort(), Array.from({ length: 20 }, (_, n) => `body ${n}`).sort())
    assert.is(sockets.size, 4)
    assert.ok(perSecond > 0)
    assert.ok(latency(0.99) >= latency(0.5))
  })
})

test('a refusal ends the load with its status, unless refusals are asked for', async () => {
  const answer: RequestListener = (_request, response) => response.writeHead(422, { 'content-length': 2 }).end('no')
  await withServer(answer, async (address) => {
    const options = { address, connections: 2, requests: 4, next: () => toGet(address, '/Patient/1') }
    await load(options).then(
      () => assert.unreachable('a refused load is none'),
      (error) => assert.match(error.message, /422.*no/),
    )
    const refused: string[] = []
    const { done } = await load({ ...options, onRefusal: (status, text) => void refused.push(`${status} ${text}`) })
    assert.is(done, 4)
    assert.equal(refused, ['422 no', '422 no', '422 no', '422 no'])
  })
})

test.run()
