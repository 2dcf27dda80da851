/** Live queries by access tokens: row B13 of SMART App Launch. */
// database: sqlite, because tokens and live queries have tests on each kind: smart/bearer.test.ts, sync/live-queries.test.ts
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import limits from '../../../plugins/limits/index.ts'
import smart from '../../../plugins/smart/index.ts'
import sync from '../../../plugins/sync/index.ts'
import { createManualClock, type ManualClock } from '../../support/manual-clock.ts'
import type { TestServer } from '../../support/server-with.ts'
import {
  ASSERTION_TYPE,
  assertionOf,
  postForm,
  registerService,
  type Service,
  smartSettings,
  tokenOf,
} from '../../support/smart-server.ts'
import { openSync, type SyncClient } from '../../support/sync-client.ts'
import { until } from '../../support/until.ts'
import { refusedWith } from '../sessions/callers.ts'
import { type Clinic, clinicWith } from '../writes/clinic.ts'

let clinic: Clinic
let server: TestServer
let address: string
let clock: ManualClock
let service: Service
let writer: string
test.before(async () => {
  clock = createManualClock()
  clinic = await clinicWith(smartSettings(), [limits, smart, sync], { clock })
  server = clinic.server
  address = await server.listen()
  service = await registerService(server)
})
test.before.each(async () => {
  writer = await token('system/*.cruds')
})
test.after(() => clinic.stop())

const token = (scope: string): Promise<string> => tokenOf(server, service, scope, clock.now())
const put = (type: string, id: string, more: object) =>
  server.inject({
    method: 'PUT',
    url: `/${type}/${id}`,
    headers: { authorization: `Bearer ${writer}`, 'content-type': 'application/fhir+json' },
    payload: JSON.stringify({ resourceType: type, id, ...more }),
  })
const open = (bearer: string): Promise<SyncClient> =>
  openSync(address, { headers: { authorization: `Bearer ${bearer}` } })
const revoke = async (bearer: string) => {
  const proof = await assertionOf(service, { now: clock.now() })
  return postForm(server, '/oauth/revoke', {
    token: bearer,
    client_assertion_type: ASSERTION_TYPE,
    client_assertion: proof,
  })
}
const closed = async (client: SyncClient): Promise<number | undefined> => {
  await until(() => client.closed !== undefined, 5_000, 'the close')
  return client.closed?.code
}

test('a scope with a condition limits the set and its deltas, another type is 403', async () => {
  await put('Patient', 'm', { gender: 'male' })
  await put('Patient', 'f', { gender: 'female' })
  const client = await open(await token('system/Patient.rs?gender=female'))
  await client.subscribe('p', 'Patient')
  assert.equal([...client.sets.get('p')!.keys()], ['Patient/f'])
  const refused = await client.subscribe('o', 'Observation')
  assert.equal([refused.op, refused.outcome.issue[0].code], ['error', 'forbidden'])
  await put('Patient', 'm', { gender: 'male', active: true })
  await put('Patient', 'f', { gender: 'male' })
  const left = await client.next(({ op }) => op === 'delta')
  assert.equal([left.kind, left.reference, left.resource], ['leave', 'Patient/f', undefined])
  assert.equal(client.faults, [])
  await client.close()
})

test('a scope that only reads opens no live query', async () => {
  const client = await open(await token('system/Patient.r'))
  assert.is((await client.subscribe('p', 'Patient')).outcome.issue[0].code, 'forbidden')
  await client.close()
})

test('a revoked token ends the live queries within 60 seconds, and opens none', async () => {
  const bearer = await token('system/*.rs')
  const client = await open(bearer)
  await client.subscribe('p', 'Patient')
  assert.is((await revoke(bearer)).statusCode, 200)
  assert.match(await refusedWith(() => open(bearer)), /401/)
  await clock.advance(31_000)
  assert.is(await closed(client), 4401)
})

test('a token in the first message counts, its end is announced, and another one goes on', async () => {
  const client = await openSync(address)
  assert.is((await client.next(({ op }) => op === 'welcome')).needsToken, true)
  client.send({ op: 'auth', token: await token('system/*.rs') })
  const { expires } = await client.next(({ op, needsToken }) => op === 'welcome' && !needsToken)
  assert.is(expires, new Date(clock.now() + 300_000).toISOString())
  await client.subscribe('p', 'Patient')
  await clock.advance(241_000)
  assert.is((await client.next(({ op }) => op === 'reauthenticate')).before, expires)
  client.send({ op: 'auth', token: await token('system/*.rs') })
  await client.next((message) => message.op === 'welcome' && message.expires > expires)
  // Another scope is another ruling.
  const from = client.messages.length
  client.send({ op: 'auth', token: await token('system/Patient.rs?gender=male') })
  await client.next(({ op, reason }) => op === 'reset' && reason === 'access', from)
  const silent = await open(await token('system/*.rs'))
  await clock.advance(301_000)
  assert.is(await closed(silent), 4401)
  assert.is(await closed(client), 4401)
})

test('without a token, or with a wrong one, nothing is answered', async () => {
  const wrong = await openSync(address)
  wrong.send({ op: 'auth', token: 'nobody-knows-it' })
  assert.is(await closed(wrong), 4401)
  const none = await openSync(address)
  none.send({ op: 'subscribe', id: 'p', query: 'Patient' })
  assert.is(await closed(none), 4401)
  assert.equal(
    [...wrong.messages, ...none.messages].filter(({ op }) => op !== 'welcome' && op !== 'error'),
    [],
  )
  assert.is((await server.inject({ method: 'POST', url: '/sync', payload: { queries: [] } })).statusCode, 401)
  assert.is((await server.inject({ url: '/sync?access_token=x' })).statusCode, 400)
})

test.run()
