/** What becomes of Subscriptions when the operator turns them off, and what a start finds that was changed meanwhile. */
// database: sqlite, because it opens one database several times
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import { sqliteKind } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { startHookReceiver } from '../../support/hook-receiver.ts'
import { serverWith } from '../../support/server-with.ts'
import { subscriptionDefinitions } from '../../support/subscription-definitions.ts'
import { type Json, patient, subscriptionClinic, subscriptionPlugins } from './subscription-clinic.ts'

test('turned off, those that ran have the status error; turned on again, nothing is sent until they are requested', async () => {
  const { settings, remove } = await sqliteKind.fresh(subscriptionPlugins)
  const receiver = await startHookReceiver()
  const on = { ...settings, subscriptions: { rest_hook_hosts: [receiver.host] } }
  const channel = { type: 'rest-hook', endpoint: `http://${receiver.host}/o` }
  let clinic = await subscriptionClinic(on)
  await clinic.subscribe('o', 'Patient', channel)
  await clinic.put(patient('p1'))
  await clinic.pass(() => receiver.taken.length === 1, 'a notification')
  await clinic.stop()

  clinic = await subscriptionClinic(settings)
  const { json } = await clinic.ask('GET', '/Subscription/o')
  assert.equal([json.status, json.error], ['error', 'The operator has turned Subscriptions off.'])
  await clinic.put(patient('p2'))
  await clinic.stop()

  clinic = await subscriptionClinic(on)
  await clinic.put(patient('p3'))
  await clinic.clock.advance(60_000)
  assert.is((await clinic.ask('GET', '/Subscription/o')).json.status, 'error')
  await clinic.subscribe('o', 'Patient', channel)
  await clinic.put(patient('p4'))
  await clinic.pass(() => receiver.taken.length === 2, 'another notification')
  assert.equal(
    receiver.taken.map(({ number }) => number),
    [1, 2],
  )
  await clinic.stop()
  await receiver.close()
  await remove()
})

test('one that was stopped while the plugin was disabled does not run', async () => {
  const { settings, remove } = await sqliteKind.fresh(subscriptionPlugins)
  const receiver = await startHookReceiver()
  const on = { ...settings, subscriptions: { rest_hook_hosts: [receiver.host] } }
  let clinic = await subscriptionClinic(on)
  const active = await clinic.subscribe('d', 'Patient', { type: 'rest-hook', endpoint: `http://${receiver.host}/d` })
  await clinic.stop()

  const plain = await serverWith({ plugins: [database, subscriptionDefinitions, ...fhirPlugins], settings })
  const answer = await plain.inject({
    method: 'PUT',
    url: '/Subscription/d',
    headers: { 'content-type': 'application/fhir+json' },
    payload: JSON.stringify({ ...active, status: 'off' }),
  })
  assert.is(answer.statusCode, 200, answer.body)
  await plain.stop()

  clinic = await subscriptionClinic(on)
  await clinic.clock.advance(5_000)
  await clinic.put(patient('p5'))
  await clinic.subscribe('mark', 'Patient', { type: 'rest-hook', endpoint: `http://${receiver.host}/mark` })
  await clinic.put(patient('p6'))
  await clinic.pass(() => receiver.numbers('/mark').length === 1, 'a notification')
  assert.equal(receiver.numbers('/d'), [])
  assert.is((await clinic.ask('GET', '/Subscription/d')).json.status, 'off')
  await clinic.stop()
  await receiver.close()
  await remove()
})

test('what a stopped server had not sent is sent by the next one', async () => {
  const { settings, remove } = await sqliteKind.fresh(subscriptionPlugins)
  const receiver = await startHookReceiver()
  const on = { ...settings, subscriptions: { rest_hook_hosts: [receiver.host] } }
  let clinic = await subscriptionClinic(on)
  const channel: Json = { type: 'rest-hook', endpoint: `http://${receiver.host}/n`, payload: 'application/fhir+json' }
  await clinic.subscribe('n', 'Patient', channel)
  receiver.answer = { status: 503 }
  for (const id of ['n1', 'n2', 'n3']) await clinic.put(patient(id))
  await clinic.stop()
  receiver.answer = { status: 200 }
  clinic = await subscriptionClinic(on)
  await clinic.put(patient('n4'))
  await clinic.pass(() => receiver.taken.length === 4, 'all notifications')
  assert.equal(
    receiver.taken.map(({ url, number }) => `${url} ${number}`),
    [1, 2, 3, 4].map((n) => `/n/Patient/n${n} ${n}`),
  )
  await clinic.stop()
  await receiver.close()
  await remove()
})

test.run()
