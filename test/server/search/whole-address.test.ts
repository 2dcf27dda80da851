/** A reference may name a resource of ours by its whole address. It is found like any other, from when it is written on. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

const SEARCHES = ['patient=Patient/p1', 'patient=p1&code=http://c|a', 'patient=p1&clinical-status=http://s|active']

const start = (settings: Record<string, unknown>): Promise<TestServer> =>
  serverWith({
    plugins: [database, stubDefinitions('all'), ...fhirPlugins],
    settings: { ...settings, server: { public_url: 'http://fhir.test' }, conformance: { update_as_create: true } },
  })

const condition = (id: string, subject: string): string =>
  JSON.stringify({
    resourceType: 'Condition',
    id,
    clinicalStatus: { coding: [{ system: 'http://s', code: 'active' }] },
    code: { coding: [{ system: 'http://c', code: 'a' }] },
    subject: { reference: subject },
  })

/** Which conditions each search finds, and where it was answered. */
const find = async (server: TestServer): Promise<{ base: string; found: readonly string[][] }> => {
  const found: string[][] = []
  let base = ''
  for (const search of SEARCHES) {
    const { link, entry = [] } = (await server.inject({ method: 'GET', url: `/Condition?${search}` })).json()
    base = link[0].url.split('/Condition')[0]
    found.push(entry.map((one: any) => one.resource.id))
  }
  return { base, found }
}

test('a reference with the whole address is found where there was none before, and after a restart', async () => {
  const own = await chosenKind.fresh()
  let server = await start(own.settings)
  const put = async (id: string, subject: string): Promise<void> => {
    const headers = { 'content-type': 'application/fhir+json' }
    const payload = condition(id, subject)
    const answer = await server.inject({ method: 'PUT', url: `/Condition/${id}`, headers, payload })
    assert.is(answer.statusCode, 201, answer.body)
  }
  await put('relative', 'Patient/p1')
  // More than once: the first ones may look for what later ones know is not there.
  for (let n = 0; n < 3; n += 1) assert.equal((await find(server)).found, Array(3).fill(['relative']))
  const { base } = await find(server)
  await put('absolute', `${base}/Patient/p1`)
  const both = Array(3).fill(['absolute', 'relative'])
  for (let n = 0; n < 3; n += 1) assert.equal((await find(server)).found, both)
  if (chosenKind.name !== 'memory') {
    await server.stop()
    server = await start(own.settings)
    for (let n = 0; n < 3; n += 1) assert.equal((await find(server)).found, both)
  }
  await server.stop()
  await own.remove()
})

test.run()
