// database: sqlite, elsewhere others may write, and no pages are kept
/** Pages of searches that are kept answer what a server answers that keeps none, whatever is written in between. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import { createDice } from '../../bench/corpus/random.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { careDefinitions } from '../../support/search-definitions.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'

const plugins = [database, careDefinitions(), ...fhirPlugins]
const LOINC = 'http://loinc.org'
const PATIENTS = ['Patient/p1', 'Patient/p2', 'Patient/p3']
const STEPS = 600

const settings = { server: { public_url: 'http://clinic.example/fhir' }, conformance: { update_as_create: true } }
const headers = { 'content-type': 'application/fhir+json' }

/** The same on both; an answer without what is made anew each time. */
const createPair = async () => {
  const servers: readonly TestServer[] = [
    await serverWith({ plugins, settings }),
    await serverWith({ plugins, settings: { ...settings, fhir: { cache_bytes: 0 } } }),
  ]
  const all = <T>(work: (server: TestServer) => Promise<T>): Promise<T[]> => Promise.all(servers.map(work))
  return {
    async write(method: 'PUT' | 'DELETE', url: string, resource?: object): Promise<void> {
      const payload = resource === undefined ? {} : { headers, payload: JSON.stringify(resource) }
      const [kept, plain] = await all((server) => server.inject({ method, url, ...payload }))
      assert.is(kept?.statusCode, plain?.statusCode, url)
      assert.ok((kept?.statusCode ?? 500) < 300, kept?.body)
    },
    async search(url: string): Promise<number> {
      const [kept, plain] = await all(async (server) => {
        const { total, link, entry = [] } = (await server.inject({ method: 'GET', url })).json()
        const found = entry.map(({ resource: { meta, ...rest } }: any) => ({ ...rest, version: meta.versionId }))
        return { total, links: link.map((one: any) => one.url.replace(/_page=.*/, '_page=')), found }
      })
      assert.equal(kept, plain, url)
      return kept?.found.length
    },
    stop: () => all((server) => server.stop()),
  }
}

test('a search answers what is there, when its page was kept as when it was not', async () => {
  const pair = await createPair()
  const dice = createDice(5)
  for (const id of PATIENTS)
    await pair.write('PUT', `/${id}`, { resourceType: 'Patient', id: id.slice(8), active: true })
  const observation = (id: string) => ({
    resourceType: 'Observation',
    id,
    status: dice.pick(['final', 'amended']),
    code: { coding: [{ system: LOINC, code: dice.pick(['a', 'b', 'c']) }] },
    // Also by the whole address of this server.
    subject: { reference: dice.pick([...PATIENTS, `${settings.server.public_url}/Patient/p2`]) },
  })
  const queries = [
    ...PATIENTS.map((patient) => `patient=${patient}`),
    ...PATIENTS.map((patient) => `patient=${patient}&code=${LOINC}|a`),
    ...['a', 'b'].map((code) => `code=${LOINC}|${code}&status=final`),
    'subject=Patient/p2&_count=3',
    `code=${LOINC}|c&_count=2`,
  ]
  let shown = 0
  for (let step = 0; step < STEPS; step += 1) {
    const id = `o${dice.below(30)}`
    if (dice.below(6) === 0)
      await (dice.below(4) === 0
        ? pair.write('DELETE', `/Observation/${id}`)
        : pair.write('PUT', `/Observation/${id}`, observation(id)))
    shown += await pair.search(`/Observation?${dice.pick(queries)}`)
  }
  assert.ok(shown > STEPS, `${shown} resources were shown`)
  await pair.stop()
})

test.run()
