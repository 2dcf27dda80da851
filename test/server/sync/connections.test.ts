/** What bounds connections of live queries: slow clients, the stop of the server, changed definitions. */
// database: sqlite, because connections are bounded in the process; sync/live-queries.test.ts is on each kind
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { WebSocket } from 'ws'
import { defineError, definePlugin } from '../../../kernel/index.ts'
import sync from '../../../plugins/sync/index.ts'
import { createManualClock, type ManualClock } from '../../support/manual-clock.ts'
import { openSync, type SyncClient } from '../../support/sync-client.ts'
import { until } from '../../support/until.ts'
import { type Clinic, clinicWith, post } from '../writes/clinic.ts'

const Lost = defineError('test/lost', 503, 'transient', 'The lease is lost.')

interface Place {
  readonly clinic: Clinic
  readonly address: string
  readonly clock: ManualClock
  readonly gate: { isClosed: boolean }
}

const place = async (): Promise<Place> => {
  const gate = { isClosed: false }
  const gated = definePlugin({
    name: 'gated',
    setup: (host) => host.gate(() => (gate.isClosed ? Lost() : undefined)),
  })
  const clock = createManualClock()
  const clinic = await clinicWith({ server: { bind: '127.0.0.1:0' } }, [gated, sync], { clock })
  return { clinic, address: await clinic.server.listen(), clock, gate }
}
const closed = async (client: SyncClient): Promise<number | undefined> => {
  await until(() => client.closed !== undefined, 5_000, 'the close')
  return client.closed?.code
}

test('a parameter in the URL is refused, also a token', async () => {
  const { clinic, address } = await place()
  for (const query of ['x=1', 'access_token=secret', 'query=Patient']) {
    const asked = await fetch(`${address}/sync?${query}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"queries":[{"id":"a","query":"Patient"}]}',
    })
    const outcome = await asked.text()
    assert.is(asked.status, 400, outcome)
    assert.ok(outcome.includes(query.split('=')[0] as string) && !outcome.includes('secret'), outcome)
    const socket = new WebSocket(`${address.replace('http', 'ws')}/sync?${query}`)
    const [error] = (await once(socket, 'error')) as [Error]
    assert.match(error.message, '400')
  }
  await clinic.stop()
})

test('a stop closes WebSockets with 1001, and ends events with a last one that says so', async () => {
  const { clinic, address } = await place()
  const client = await openSync(address)
  await client.subscribe('p', 'Patient')
  const answer = await fetch(`${address}/sync`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"queries":[{"id":"a","query":"Patient"}]}',
  })
  const began = performance.now()
  const stopped = clinic.stop()
  assert.is(await closed(client), 1001)
  assert.match(await answer.text(), /event: close\ndata: \{"code":1001,"reason":"the server stops"\}\n\n$/)
  await stopped
  assert.ok(performance.now() - began < 5_000)
})

test('a server that may not answer any more closes with 4503', async () => {
  const { clinic, address, clock, gate } = await place()
  const client = await openSync(address)
  await client.subscribe('p', 'Patient')
  gate.isClosed = true
  await clock.advance(1_000)
  assert.is(await closed(client), 4503)
  gate.isClosed = false
  await clinic.stop()
})

test('a query that nothing hits can be resumed after more changes of others than a server reads again', async () => {
  const { clinic, address, clock } = await place()
  const client = await openSync(address)
  await client.subscribe('quiet', 'Patient?gender=unknown')
  const first = client.lastAt('quiet')
  await client.subscribe('end', 'Patient?active=false')
  const others = Array.from({ length: 700 }, () => post({ resourceType: 'Patient', gender: 'other' }))
  for (let bundle = 0; bundle < 3; bundle += 1)
    assert.is((await clinic.bundle('transaction', others)).status, 200, 'a Bundle of others')
  await clinic.ask('POST', '/Patient', { resourceType: 'Patient', active: false })
  await client.next(({ op, id, ids }) => op === 'delta' && (id ?? ids[0]) === 'end')
  await clock.advance(1_000)
  await client.subscribe('behind', 'Patient?active=false')
  assert.is(client.lastAt('quiet'), first, 'what others write makes no frame')
  let at = first
  // Each query in its turn, and again.
  for (let times = 1; times <= 2; times += 1) {
    const before = ['quiet', 'end', 'behind'].map((id) => client.lastAt(id))
    for (let second = 0; second < 30; second += 1) await clock.advance(1_000)
    const isNewer = (): boolean => ['quiet', 'end', 'behind'].every((id, n) => client.lastAt(id) !== before[n])
    await until(isNewer, 2_000, `newer positions, ${times}`)
    at = client.lastAt('quiet')
  }
  await client.close()
  const back = await openSync(address)
  assert.is((await back.subscribe('quiet', 'Patient?gender=unknown', first)).op, 'reset')
  assert.is((await back.subscribe('again', 'Patient?gender=unknown', at)).op, 'ready')
  await back.close()
  await clinic.stop()
})

test('a search parameter that is new resets what may mean something else now', async () => {
  const { clinic, address, clock } = await place()
  const client = await openSync(address)
  await client.subscribe('p', 'Patient?active=true')
  const made = await clinic.ask('POST', '/SearchParameter', {
    resourceType: 'SearchParameter',
    url: 'http://example.org/SearchParameter/deceased-now',
    name: 'deceasedNow',
    status: 'active',
    description: 'x',
    code: 'deceased-now',
    base: ['Patient'],
    type: 'token',
    expression: 'Patient.deceased',
  })
  assert.is(made.status, 201, made.text)
  await until(
    async () => {
      await clock.advance(1_000)
      return client.messages.some(({ op, reason }) => op === 'reset' && reason === 'meaning')
    },
    5_000,
    'the reset',
  )
  assert.is((await client.subscribe('p', 'Patient?active=true')).op, 'ready')
  await client.close()
  await clinic.stop()
})

/** A client that reads only when it is told to, so what it is sent waits in the server. */
const slowClient = async (address: string, body: string): Promise<Socket> => {
  const { hostname, port } = new URL(address)
  const socket = connect({ host: hostname, port: Number(port) })
  await once(socket, 'connect')
  socket.write(
    `POST /sync HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  await once(socket, 'readable')
  return socket
}
const QUERY = '{"queries":[{"id":"p","query":"Patient?_id=big"}]}'
/** Incompressible text, so that the sockets in between hold little of it. */
const big = (at: number) => ({
  resourceType: 'Patient',
  id: 'big',
  name: [{ family: `${at}`, text: 'x'.repeat(200_000) }],
})

test('of a resource that a slow client has not read yet it gets the newest version, once it reads', async () => {
  const { clinic, address } = await place()
  const socket = await slowClient(address, QUERY)
  const last = 60
  for (let at = 1; at <= last; at += 1) await clinic.ask('PUT', '/Patient/big', big(at))
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
  })
  const versions = (): number[] =>
    [...text.matchAll(/"reference":"Patient\/big","version":(\d+)/g)].map((one) => Number(one[1]))
  await until(() => versions().at(-1) === last, 10_000, 'the last version')
  assert.ok(versions().length < last, `${versions()}`)
  assert.equal(
    versions(),
    [...versions()].sort((one, other) => one - other),
  )
  socket.destroy()
  await clinic.stop()
})

test('so does one on a WebSocket', async () => {
  const { clinic, address } = await place()
  const socket = new WebSocket(`${address.replace('http', 'ws')}/sync`)
  await once(socket, 'open')
  const messages: Record<string, any>[] = []
  socket.on('message', (data) => messages.push(JSON.parse(data.toString())))
  socket.send(JSON.stringify({ op: 'subscribe', id: 'p', query: 'Patient?_id=big' }))
  await until(() => messages.some(({ op }) => op === 'ready'), 5_000, 'the query')
  socket.pause()
  const last = 60
  for (let at = 1; at <= last; at += 1) await clinic.ask('PUT', '/Patient/big', big(at))
  socket.resume()
  const versions = (): number[] => messages.filter(({ op }) => op === 'delta').map(({ version }) => version)
  await until(() => versions().at(-1) === last, 10_000, 'the last version')
  assert.ok(versions().length < last, `${versions()}`)
  assert.equal(
    versions(),
    [...versions()].sort((one, other) => one - other),
  )
  socket.terminate()
  await clinic.stop()
})

test('a client that reads nothing is reset after 30 seconds and cut after 60', async () => {
  const { clinic, address, clock } = await place()
  const socket = await slowClient(address, QUERY)
  for (let at = 1; at <= 60; at += 1) await clinic.ask('PUT', '/Patient/big', big(at))
  await clock.advance(32_000)
  await clock.advance(31_000)
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
  })
  await until(() => text.includes('"code":4408'), 10_000, 'the end')
  assert.match(text, /"op":"reset","id":"p","reason":"slow"/)
  socket.destroy()
  await clinic.stop()
})

test.run()
