/** A conditional reference whose match is deleted while the transaction runs is refused as one without a match. */
// database: postgres, where another transaction can commit while one is open
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin } from '../../../kernel/index.ts'
import { Fhir } from '../../../plugins/fhir/service.ts'
import references from '../../../plugins/references/index.ts'
import type { TestServer } from '../../support/server-with.ts'
import { clinicWith } from './clinic.ts'

let server: TestServer
/** Called once, when all conditions were checked and before the targets of references are. */
let between: (() => Promise<void>) | undefined
const interrupting = definePlugin({
  name: 'interrupting',
  needs: { fhir: Fhir },
  setup({ needs: { fhir } }) {
    fhir.check({
      name: 'interrupting',
      async checkInTransaction() {
        const act = between
        between = undefined
        await act?.()
        return []
      },
    })
  },
})
test.before(async () => {
  const settings = { conformance: { reference_policy: 'strict', update_as_create: true } }
  server = (await clinicWith(settings, [interrupting, references])).server
})
test.after(() => server.stop())

const send = (method: 'POST' | 'PUT' | 'DELETE', url: string, body?: object) =>
  server.inject({
    method,
    url,
    headers: { 'content-type': 'application/fhir+json' },
    ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
  })
const referring = (value = '1') =>
  send('POST', '/', {
    resourceType: 'Bundle',
    type: 'transaction',
    entry: [
      {
        request: { method: 'POST', url: 'Observation' },
        resource: {
          resourceType: 'Observation',
          status: 'final',
          code: { text: 'x' },
          subject: { reference: `Patient?identifier=urn:a|${value}` },
        },
      },
    ],
  })
const patient = (id: string) => ({ resourceType: 'Patient', id, identifier: [{ system: 'urn:a', value: '1' }] })

test('it is 400 conditional-reference-none, and names no id that the client does not know', async () => {
  await send('PUT', '/Patient/one', patient('one'))
  between = async () => void (await send('DELETE', '/Patient/one'))
  const answer = await referring()
  assert.is(answer.statusCode, 400, answer.body)
  assert.match(answer.body, /matches nothing/)
  assert.not.match(answer.body, /Patient\/one/)
})

test('where another resource matches by then, the reference leads to that one', async () => {
  await send('PUT', '/Patient/two', patient('two'))
  between = async () => {
    await send('DELETE', '/Patient/two')
    await send('PUT', '/Patient/three', patient('three'))
  }
  const answer = await referring()
  assert.is(answer.statusCode, 200, answer.body)
  const [{ response }] = answer.json().entry
  const { pathname } = new URL(response.location, 'http://localhost')
  const observation = (await server.inject(pathname.split('/_history')[0] as string)).json()
  assert.is(observation.subject.reference, 'Patient/three')
})

test('after a 5xx the transaction is not begun again, because it may be committed', async () => {
  await send('PUT', '/Patient/four', { ...patient('four'), identifier: [{ system: 'urn:a', value: '4' }] })
  between = async () => {
    await send('DELETE', '/Patient/four')
    throw new Error('the outcome is not known')
  }
  assert.is((await referring('4')).statusCode, 500)
})

test.run()
