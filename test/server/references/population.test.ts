/**
 * A population of patients loads under reference_policy = "strict" in any order, one Bundle after the other or eight at
 * once, and nothing is refused wrongly. `npm run load -- <archive>` does the same with a real one.
 */
// database: sqlite and postgres, because in memory the same statements run as on a file
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import references from '../../../plugins/references/index.ts'
import validation from '../../../plugins/validation/index.ts'
import { generatePopulation } from '../../bench/corpus/generated-population.ts'
import { loadPopulation } from '../../bench/corpus/load-population.ts'
import { createDice } from '../../bench/corpus/random.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

const PATIENTS = 8

const servers: TestServer[] = []
test.after(async () => {
  for (const server of servers) await server.stop()
})
const start = async (): Promise<{ server: TestServer; address: string }> => {
  const server = await serverWith({
    plugins: [database, stubDefinitions('all'), validation, ...fhirPlugins, references],
    settings: { server: { bind: '127.0.0.1:0' } },
  })
  servers.push(server)
  return { server, address: await server.listen() }
}

const countsOf = (texts: readonly string[]): Record<string, number> => {
  const counts: Record<string, number> = {}
  for (const text of texts)
    for (const { resource } of (JSON.parse(text) as { entry: { resource: { resourceType: string } }[] }).entry)
      counts[resource.resourceType] = (counts[resource.resourceType] ?? 0) + 1
  return counts
}

for (const connections of [1, 8])
  test(`${PATIENTS} patients and those who treat them load over ${connections} connections`, async () => {
    const bundles = generatePopulation(createDice(connections), PATIENTS)
    const { server, address } = await start()
    const { refused, resources } = await loadPopulation({ address, bundles, connections, dice: createDice(7) })
    assert.equal(refused, [])
    const expected = countsOf(bundles.map(({ text }) => text))
    assert.is(
      resources,
      Object.values(expected).reduce((sum, count) => sum + count, 0),
    )
    for (const [type, count] of Object.entries(expected)) {
      const found = (await server.inject(`/${type}?_summary=count`)).json() as { total: number }
      assert.is(found.total, count, type)
    }
    // Loaded again, the staff is found and only the patients are new.
    const again = await loadPopulation({ address, bundles, connections, dice: createDice(8) })
    assert.equal(again.refused, [])
    const staff = (await server.inject('/Practitioner?_summary=count')).json() as { total: number }
    assert.is(staff.total, expected.Practitioner)
  })

test('a Bundle that refers to staff who is not there yet is refused whole', async () => {
  const bundles = generatePopulation(createDice(1), 1).filter(({ isOfPatients }) => isOfPatients)
  const { server, address } = await start()
  const { refused } = await loadPopulation({ address, bundles, connections: 1, dice: createDice(1) })
  assert.is(refused.length, 1)
  const found = (await server.inject('/Patient?_summary=count')).json() as { total: number }
  assert.is(found.total, 0)
})

test.run()
