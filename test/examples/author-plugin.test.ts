/** examples/author-plugin.ts over HTTP. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import authorPlugin from '../../examples/author-plugin.ts'
import { defineError, definePlugin } from '../../kernel/index.ts'
import { type Clinic, clinicWith, post } from '../server/writes/clinic.ts'
import { named } from '../support/named-callers.ts'

const Refused = defineError('refuser/refused', 422, 'business-rule', 'Refused.')
const refuser = definePlugin({
  name: 'refuser',
  setup({ hooks }) {
    hooks.onWrite.tap({ name: 'refuse', stage: 1 }, ({ next }) => {
      if (next.type === 'Basic') throw Refused()
    })
  },
})
const by = (client: string, user: string) => ({ headers: { 'x-test-client': client, 'x-test-user': user } })

const test = suite('author plugin')
let clinic: Clinic
test.before(async () => {
  clinic = await clinicWith({}, [named, authorPlugin, refuser])
})
test.after(() => clinic.stop())

const authorsOf = async (of: string) =>
  (await clinic.ask('GET', `/_authors?of=${of}`)).json.map(({ version, client, author }: any) => [
    Number(version),
    client,
    author,
  ])

test('each version is kept with its author, a deletion too', async () => {
  const url = '/Patient/a'
  await clinic.ask('PUT', url, { resourceType: 'Patient', id: 'a' }, by('desk', 'Practitioner/p'))
  await clinic.ask('PUT', url, { resourceType: 'Patient', id: 'a', active: true })
  await clinic.ask('DELETE', url, undefined, by('desk', 'Practitioner/q'))
  assert.equal(await authorsOf('Patient/a'), [
    [3, 'desk', 'Practitioner/q'],
    [2, null, null],
    [1, 'desk', 'Practitioner/p'],
  ])
})

test('whose authors are asked for has to be said', async () => {
  assert.is((await clinic.ask('GET', '/_authors')).status, 400)
})

test('of a transaction that is undone no author is kept', async () => {
  const patient = {
    fullUrl: 'urn:uuid:1',
    resource: { resourceType: 'Patient', id: 'b' },
    request: { method: 'PUT', url: 'Patient/b' },
  }
  assert.is((await clinic.bundle('transaction', [patient, post({ resourceType: 'Basic' })])).status, 422)
  assert.equal(await authorsOf('Patient/b'), [])
  assert.is((await clinic.bundle('transaction', [patient])).status, 200)
  assert.equal(await authorsOf('Patient/b'), [[1, null, null]])
})

test.run()
