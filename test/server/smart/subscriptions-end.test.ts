/** Subscriptions of clients that are disabled. */
// database: sqlite, because clients and Subscriptions have tests on each kind: smart/refresh.test.ts, subscriptions/rest-hooks.test.ts
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import { Database } from '../../../plugins/database/service.ts'
import limits from '../../../plugins/limits/index.ts'
import { removeClient } from '../../../plugins/smart/clients/clients.ts'
import smart from '../../../plugins/smart/index.ts'
import subscriptions from '../../../plugins/subscriptions/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { type HookReceiver, startHookReceiver } from '../../support/hook-receiver.ts'
import { createManualClock } from '../../support/manual-clock.ts'
import { serverWith } from '../../support/server-with.ts'
import { registerService, type Service, smartSettings, tokenOf } from '../../support/smart-server.ts'
import { subscriptionDefinitions } from '../../support/subscription-definitions.ts'
import { until } from '../../support/until.ts'

let receiver: HookReceiver
test.before(async () => {
  receiver = await startHookReceiver()
})
test.after(() => receiver.close())

const clinic = async () => {
  const clock = createManualClock()
  const server = await serverWith({
    clock,
    plugins: [database, subscriptionDefinitions, limits, smart, ...fhirPlugins, subscriptions],
    settings: {
      ...smartSettings(),
      conformance: { update_as_create: true },
      subscriptions: { rest_hook_hosts: [receiver.host] },
    },
  })
  const ask = async (service: Service, method: 'GET' | 'PUT', url: string, body?: object) => {
    const token = await tokenOf(server, service, 'system/*.cruds', clock.now())
    const answer = await server.inject({
      ...{ method, url, headers: { authorization: `Bearer ${token}`, 'content-type': 'application/fhir+json' } },
      ...(body && { payload: JSON.stringify(body) }),
    })
    assert.ok(answer.statusCode < 300, answer.body)
    return answer.json() as Record<string, any>
  }
  const subscribe = (service: Service, id: string) =>
    ask(service, 'PUT', `/Subscription/${id}`, {
      ...{ resourceType: 'Subscription', id, status: 'requested', reason: 'a test', criteria: 'Patient?gender=female' },
      channel: { type: 'rest-hook', endpoint: `http://${receiver.host}/${id}` },
    })
  /** The Subscription once it has this status. Time passes meanwhile. */
  const whenStatus = async (service: Service, id: string, status: string) => {
    let found: Record<string, any> = {}
    await until(
      async () => {
        found = await ask(service, 'GET', `/Subscription/${id}`)
        if (found.status !== status) await clock.advance(1_000)
        return found.status === status
      },
      20_000,
      `Subscription/${id} to be ${status}`,
    )
    return found
  }
  return { server, clock, ask, subscribe, whenStatus }
}

test('a Subscription ends when its client is disabled, and one of another client goes on', async () => {
  const { server, clock, ask, subscribe, whenStatus } = await clinic()
  const leaving = await registerService(server)
  const staying = await registerService(server)
  await subscribe(leaving, 'leaving')
  await subscribe(staying, 'staying')
  await whenStatus(staying, 'leaving', 'active')
  await whenStatus(staying, 'staying', 'active')
  await ask(staying, 'PUT', '/Patient/a', { resourceType: 'Patient', id: 'a', gender: 'female' })
  for (const path of ['/leaving', '/staying'])
    await until(() => receiver.numbers(path).includes(1), 5_000, `a notification at ${path}`)

  await server.get(Database).transact((transaction) => removeClient(transaction, leaving.id, clock.now()))
  await ask(staying, 'PUT', '/Patient/b', { resourceType: 'Patient', id: 'b', gender: 'female' })
  const ended = await whenStatus(staying, 'leaving', 'error')
  assert.is(ended.error, 'Its client is not registered any more.')
  await until(() => receiver.numbers('/staying').includes(2), 5_000, 'the notification of the other')
  assert.equal(Math.max(...receiver.numbers('/leaving')), 1)
  await server.stop()
})

test.run()
