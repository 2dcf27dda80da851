/** Every version is an event, however quickly versions of one resource follow each other. */
// npm test: postgres, where transactions overlap
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { startHookReceiver } from '../../support/hook-receiver.ts'
import { observation, subscriptionClinic } from './subscription-clinic.ts'

const VERSIONS = 200

test('versions that follow each other at once are all notified, in their order', async () => {
  const receiver = await startHookReceiver()
  const clinic = await subscriptionClinic({ subscriptions: { rest_hook_hosts: [receiver.host] } })
  const endpoint = `http://${receiver.host}/hook`
  await clinic.subscribe('s', 'Observation?status=final', {
    type: 'rest-hook',
    endpoint,
    payload: 'application/fhir+json',
  })
  for (let n = 1; n <= VERSIONS; n += 1) await clinic.put(observation('o', 'p', { valueInteger: n }))
  const last = observation('end', 'p')
  await clinic.put(last)
  await clinic.pass(() => receiver.taken.some(({ url }) => url.endsWith('/end')), 'the last notification')
  const seen = receiver.taken.filter(({ url }) => url.endsWith('/o')).map(({ body }) => JSON.parse(body).valueInteger)
  assert.equal(
    seen,
    Array.from({ length: VERSIONS }, (_, at) => at + 1),
  )
  await clinic.stop()
  await receiver.close()
})

test.run()
