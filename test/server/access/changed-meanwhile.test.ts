/**
 * A resource that is closed to a restricted caller while his search is at work: what is shown of it is the version that was
 * judged, or nothing. The change is made behind each of the queries that a search asks, one after the other.
 */
// npm test: postgres, where transactions overlap
// memory: reads wait there while a transaction is open
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnyPlugin, definePlugin } from '../../../kernel/index.ts'
import { chosenKind, sessionsInTurn } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'
import { watchedDatabase } from '../../support/watched-database.ts'

const OPEN = { system: 'http://t', code: 'open' }
const MOST_QUERIES = 12
const BY_CONTENT = { types: {}, others: [{ rights: 'cruds', query: '_tag=http://t|open' }] } as const
/** The index alone knows which resources have a word. */
const BY_INDEX = { types: {}, others: [{ rights: 'cruds', query: '_content=public' }] } as const
const gate: AnyPlugin = definePlugin({
  name: 'gate',
  setup({ hooks }) {
    hooks.authorize.tap('what is open', ({ headers }, _interaction, ruling) => {
      if (headers['x-part'] === 'yes') ruling.restrict(BY_CONTENT)
      if (headers['x-part'] === 'index') ruling.restrict(BY_INDEX)
    })
  },
})

let server: TestServer
const { plugin, watch } = watchedDatabase()
const put = async (resource: { resourceType: string; id: string; [more: string]: unknown }): Promise<void> => {
  const { resourceType: type, id } = resource
  const headers = { 'content-type': 'application/fhir+json' }
  const payload = JSON.stringify(resource)
  const answer = await server.inject({ method: 'PUT', url: `/${type}/${id}`, headers, payload })
  assert.ok(answer.statusCode < 300, answer.body)
}
const patient = (isOpen: boolean) =>
  put({
    resourceType: 'Patient',
    id: 'p',
    meta: { tag: isOpen ? [OPEN] : [{ system: 'http://t', code: 'shut' }] },
    name: [{ family: isOpen ? 'Public' : 'SECRET' }],
    managingOrganization: { reference: 'Organization/g' },
    generalPractitioner: [{ reference: 'Practitioner/d' }],
  })

test.before(async () => {
  server = await serverWith({
    plugins: [plugin, stubDefinitions('all'), ...fhirPlugins, gate],
    settings: { conformance: { update_as_create: true }, cluster: { db_pool: sessionsInTurn() } },
  })
  await put({ resourceType: 'Organization', id: 'g', meta: { tag: [OPEN] } })
  await put({ resourceType: 'Practitioner', id: 'd', meta: { tag: [OPEN] } })
  await patient(true)
  for (const id of ['a', 'b', 'c'])
    await put({ resourceType: 'Patient', id, meta: { tag: [OPEN] }, name: [{ family: `N${id}` }] })
  await put({ resourceType: 'Observation', id: 'o', meta: { tag: [OPEN] }, subject: { reference: 'Patient/p' } })
  await put({
    resourceType: 'Binary',
    id: 'b',
    contentType: 'text/plain',
    data: 'U0VDUkVU',
    securityContext: { reference: 'Patient/p' },
  })
  await put({ resourceType: 'Provenance', id: 'v', meta: { tag: [OPEN] }, target: [{ reference: 'Observation/o' }] })
})
test.after(() => server.stop())

const ADDRESSES = [
  'Observation?_id=o&_include=Observation:subject',
  'Observation?_include=*',
  'Observation?patient=p&_include=Observation:patient&_include:iterate=Patient:general-practitioner',
  'Organization?_revinclude=Patient:organization',
  'Organization?_revinclude=*',
  'Patient?_sort=name',
  'Patient?_sort=-_lastUpdated',
  'Patient?_sort=_id&_count=3',
  'Patient?_sort=organization',
  'Patient?_sort=name,_id&name:missing=false',
  '?_type=Patient,Observation&_sort=_lastUpdated',
  'Patient?name:contains=public,secret',
  'Patient?_has:Observation:subject:_id=o&_sort=family',
  'Patient/p/$everything',
  'Patient/$everything?_count=2',
  'Patient/p/Observation?_include=Observation:subject',
]
for (const address of ADDRESSES)
  test(`${address}: what is closed meanwhile is shown as it was when it was open, or not at all`, async () => {
    let most = 0
    for (let nth = 1; nth <= MOST_QUERIES; nth += 1) {
      let count = 0
      watch.behind = async () => {
        count += 1
        if (count !== nth) return
        watch.behind = undefined
        await patient(false)
      }
      const { statusCode, body } = await server.inject({ url: `/${address}`, headers: { 'x-part': 'yes' } })
      watch.behind = undefined
      if (statusCode !== 200) assert.ok([400, 404].includes(statusCode), `${statusCode} ${body}`)
      assert.not.match(body, /SECRET/, `behind query ${nth}`)
      most = Math.max(most, count)
      await patient(true)
      if (count < nth) break
    }
    if (chosenKind.name !== 'memory') assert.ok(most > 0, 'no query was seen')
  })

const SINGLE = [
  'Patient/p',
  'Patient/p/_history',
  'Patient/_history',
  '_history',
  'Patient/p/$everything',
  'Patient/p/Observation?_include=Observation:subject',
  'Patient?_id=p',
  'Binary/b',
]
for (const address of SINGLE)
  for (const part of ['yes', 'index'])
    test(`${address}: a closed version is not shown where the next one is open (${part})`, async () => {
      for (const place of ['before', 'behind'] as const)
        for (let nth = 1; nth <= MOST_QUERIES; nth += 1) {
          let count = 0
          await patient(false)
          watch[place] = async () => {
            count += 1
            if (count !== nth) return
            watch[place] = undefined
            await patient(true)
          }
          const { statusCode, body } = await server.inject({ url: `/${address}`, headers: { 'x-part': part } })
          watch[place] = undefined
          if (statusCode !== 200) assert.ok([400, 403, 404].includes(statusCode), `${statusCode} ${body}`)
          assert.not.match(body, /SECRET/, `${place} query ${nth}`)
          if (count < nth) break
        }
      await patient(true)
    })

test.run()
