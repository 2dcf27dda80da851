/** Several servers that start at the same moment on one empty database. */
// database: postgres, the one kind that several processes share
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { chosenKind } from '../support/database-kinds.ts'
import { basic, serverWith } from '../support/server-with.ts'

test('servers that start together on an empty database agree on its types', async () => {
  const fresh = await chosenKind.fresh()
  const servers = await Promise.all([1, 2, 3].map(() => serverWith({ plugins: basic, settings: fresh.settings })))
  const [first, second, third] = servers as [(typeof servers)[0], (typeof servers)[0], (typeof servers)[0]]
  const payload = { resourceType: 'Patient' }
  const headers = { 'content-type': 'application/fhir+json' }
  const created = await first.inject({ method: 'POST', url: '/Patient', headers, payload: JSON.stringify(payload) })
  assert.is(created.statusCode, 201)
  for (const server of [second, third])
    assert.is((await server.inject(`/Patient/${created.json().id}`)).statusCode, 200)
  await Promise.all(servers.map((server) => server.stop()))
  await fresh.remove()
})

test.run()
