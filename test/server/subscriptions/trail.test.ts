/** What the trail has of Subscriptions: each version that was sent, once, with its patients, and no secret. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AuditFact, definePlugin } from '../../../kernel/index.ts'
import expunge from '../../../plugins/expunge/index.ts'
import jobs from '../../../plugins/jobs/index.ts'
import { startHookReceiver } from '../../support/hook-receiver.ts'
import { observation, patient, subscriptionClinic } from './subscription-clinic.ts'

test('a version that is sent is a read of the owner, once, however often it is sent', async () => {
  const receiver = await startHookReceiver()
  const facts: AuditFact[] = []
  const keeping = definePlugin({
    name: 'keeping',
    setup: ({ hooks }) => hooks.onAudit.tap('keep', (fact) => void facts.push(fact)),
  })
  const clinic = await subscriptionClinic({ subscriptions: { rest_hook_hosts: [receiver.host] } }, [keeping])
  const endpoint = `http://${receiver.host}/t`
  const header = ['Authorization: Bearer correct-horse']
  await clinic.put(patient('p'))
  const channel = { type: 'rest-hook', endpoint, payload: 'application/fhir+json', header }
  await clinic.subscribe('t', 'Observation', channel)
  receiver.answer = { status: 503 }
  await clinic.put(observation('o', 'p'))
  await clinic.pass(() => receiver.all.length >= 3, 'three tries')
  receiver.answer = { status: 200 }
  await clinic.pass(() => receiver.taken.length === 1, 'the notification')
  const own = facts.filter(({ request }) => request.url === '/-/subscriptions')
  const sent = own.filter(({ interaction: { kind } }) => kind === 'vread')
  assert.is(sent.length, 1)
  const [{ request, interaction, status, details }] = sent as [AuditFact]
  assert.equal([request.caller.client, interaction.type, interaction.id, status], ['app', 'Observation', 'o', 200])
  assert.equal(details?.patients?.(), ['Patient/p'])
  // The status active, which the server wrote.
  const changes = own.filter(({ interaction: { kind } }) => kind === 'patch')
  assert.equal(
    changes.map(({ request: { caller }, interaction: { id } }) => `${caller.kind} ${id}`),
    ['internal t'],
  )
  const told = facts.map((one) => [one.interaction, one.status, one.details?.query?.(), one.details?.patients?.()])
  assert.not.ok(JSON.stringify(told).includes('correct-horse'))
  await clinic.stop()
  await receiver.close()
})

test('a version that was erased while its notification waited is not sent any more', async () => {
  const receiver = await startHookReceiver()
  const settings = { subscriptions: { rest_hook_hosts: [receiver.host] } }
  const clinic = await subscriptionClinic(settings, [jobs, expunge])
  await clinic.put(patient('p'))
  const channel = { type: 'rest-hook', endpoint: `http://${receiver.host}/t`, payload: 'application/fhir+json' }
  await clinic.subscribe('t', 'Observation', channel)
  receiver.answer = { status: 503 }
  await clinic.put(observation('erased', 'p'))
  await clinic.put(observation('kept', 'p'))
  await clinic.pass(() => receiver.all.length >= 2, 'two tries')
  const erased = await clinic.ask('POST', '/Observation/erased/$expunge')
  assert.is(erased.status, 200, erased.text)
  const tried = receiver.all.length
  receiver.answer = { status: 200 }
  await clinic.pass(() => receiver.taken.length === 1, 'the notification')
  const sent = receiver.all.slice(tried).map(({ url, body }) => `${url} ${body}`)
  assert.not.ok(
    sent.some((one) => one.includes('erased')),
    sent.join(),
  )
  assert.ok(sent.at(-1)?.includes('/Observation/kept'))
  await clinic.stop()
  await receiver.close()
})

test.run()
