/** The channel websocket: bind, bound and ping, and who is pinged. */
// database: sqlite, because events reach this channel as they reach subscriptions/rest-hooks.test.ts, which is on each kind
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { WebSocket } from 'ws'
import { type TestToken, tokenHeaders } from '../../support/scoped-callers.ts'
import { until } from '../../support/until.ts'
import { observation, patient, type SubscriptionClinic, subscriptionClinic } from './subscription-clinic.ts'

let clinic: SubscriptionClinic
let address: string
test.before(async () => {
  clinic = await subscriptionClinic({ subscriptions: { websocket: true } })
  address = await clinic.server.listen()
})
test.after(() => clinic.stop())

const open = async (token: TestToken, headers: Record<string, string> = {}) => {
  const socket = new WebSocket(`${address.replace('http', 'ws')}/subscription-events`, {
    headers: { ...tokenHeaders(token), ...headers },
  })
  const heard: string[] = []
  let closed: number | undefined
  socket.on('message', (data) => heard.push(data.toString()))
  socket.on('close', (code) => {
    closed = code
  })
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  return {
    heard,
    send: (text: string) => socket.send(text),
    hears: (text: string, times = 1) =>
      clinic.pass(() => heard.filter((one) => one === text).length >= times, `${times} ${text}, not ${heard}`, 100),
    whenClosed: async () => {
      await until(() => closed !== undefined, 5_000, 'the close')
      return closed
    },
    close: () => socket.close(),
  }
}
const ALL = { scope: 'system/*.cruds' }

test('who binds a Subscription is pinged for each event', async () => {
  await clinic.subscribe('w1', 'Patient?gender=female', { type: 'websocket' })
  await clinic.subscribe('w2', 'Observation', { type: 'websocket' })
  const client = await open(ALL)
  client.send('bind w1')
  await client.hears('bound w1')
  await clinic.put(patient('a', { gender: 'female' }))
  await clinic.put(patient('b', { gender: 'male' }))
  await clinic.put(observation('o', 'a'))
  await clinic.put(patient('b', { gender: 'female' }))
  await client.hears('ping w1', 2)
  client.send('bind:w2')
  await client.hears('bound w2')
  await clinic.put(observation('o', 'b'))
  await client.hears('ping w2')
  assert.equal(client.heard, ['bound w1', 'ping w1', 'ping w1', 'bound w2', 'ping w2'])
  client.close()
})

test('a Subscription that is not there, not active, of another channel or hidden is not bound', async () => {
  await clinic.subscribe('w3', 'Patient', { type: 'websocket' })
  const { json } = await clinic.ask('GET', '/Subscription/w3')
  const binding = async (id: string, token: TestToken = ALL): Promise<number | undefined> => {
    const client = await open(token)
    client.send(`bind ${id}`)
    return client.whenClosed()
  }
  assert.is(await binding('nothing'), 4404)
  assert.is(await binding('w3', { scope: 'system/Patient.cruds' }), 4404)
  await clinic.put({ ...json, status: 'off' })
  assert.is(await binding('w3'), 4404)
  const client = await open(ALL)
  client.send('hello')
  assert.is(await client.whenClosed(), 4400)
})

test('when the Subscription ends, or is hidden, the connection is closed', async () => {
  await clinic.subscribe('w4', 'Patient', { type: 'websocket' })
  const client = await open(ALL)
  client.send('bind w4')
  await client.hears('bound w4')
  await clinic.ask('DELETE', '/Subscription/w4')
  await clinic.clock.advance(31_000)
  assert.is(await client.whenClosed(), 4404)
})

test('pages of another origin, endpoints and payloads are refused', async () => {
  await open(ALL, { origin: 'https://evil.example.org' }).then(
    () => assert.unreachable(),
    (error: Error) => assert.match(error.message, /403/),
  )
  const resource = { resourceType: 'Subscription', id: 'x', status: 'requested', reason: 'x', criteria: 'Patient' }
  for (const more of [
    { endpoint: 'https://example.org' },
    { payload: 'application/fhir+json' },
    { header: ['A: b'] },
  ]) {
    const { status } = await clinic.ask('PUT', '/Subscription/x', {
      ...resource,
      channel: { type: 'websocket', ...more },
    })
    assert.is(status, 422)
  }
})

test.run()
