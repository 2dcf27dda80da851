/** A read behind an acknowledged write gives what was written last, whatever shared the COMMIT. */
// npm test: sqlite and postgres, whose statements differ
// memory: reads wait there while a transaction is open
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnyPlugin, definePlugin } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

const ROUNDS = 40
const told: (readonly [path: string, version: number])[] = []
const witness: AnyPlugin = definePlugin({
  name: 'witness',
  setup({ hooks }) {
    hooks.onCommit.tap('note', ({ changes }) => {
      for (const { next } of changes) told.push([`${next.type}/${next.id}`, next.version])
    })
  },
})

let server: TestServer
test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions(), ...fhirPlugins, witness],
    settings: { conformance: { update_as_create: true } },
  })
})
test.after(() => server.stop())

const send = (
  method: 'PUT' | 'PATCH' | 'POST' | 'DELETE',
  url: string,
  body?: object,
  type = 'application/fhir+json',
) =>
  server.inject({
    method,
    url,
    headers: body === undefined ? {} : { 'content-type': type },
    ...(body && { payload: JSON.stringify(body) }),
  })
const patient = (language: string) => ({ resourceType: 'Patient', id: 'p', language })
const inTransaction = () =>
  send('POST', '/', {
    resourceType: 'Bundle',
    type: 'transaction',
    entry: [{ resource: patient('tr'), request: { method: 'PUT', url: 'Patient/p' } }],
  })
const alone = {
  DELETE: () => send('DELETE', '/Patient/p'),
  PUT: () => send('PUT', '/Patient/p', patient('pu')),
  PATCH: () => send('PATCH', '/Patient/p', { language: 'pa' }, 'application/merge-patch+json'),
}

for (const [method, write] of Object.entries(alone))
  test(`a transaction and a ${method} of the same resource at once: reads give the later version, and onCommit hears of it last`, async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      assert.ok((await send('PUT', '/Patient/p', patient('xx'))).statusCode < 300)
      // In memory from now on.
      for (let time = 0; time < 3; time += 1) await server.inject('/Patient/p')
      told.length = 0
      const answers = await Promise.all([inTransaction(), write()])
      for (const { statusCode, body } of answers) assert.ok(statusCode < 300, body)
      const read = await server.inject('/Patient/p')
      const { entry } = (await server.inject('/Patient/p/_history?_count=1')).json()
      const [{ resource, request }] = entry
      assert.is(read.statusCode, request.method === 'DELETE' ? 410 : 200, `round ${round}`)
      if (resource !== undefined) assert.equal(read.json(), resource)
      const versions = told.map(([, version]) => version)
      assert.equal(
        versions,
        versions.toSorted((one, other) => one - other),
      )
    }
  })

test.run()
