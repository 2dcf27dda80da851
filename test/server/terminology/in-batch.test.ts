/** Terminology operations as entries of a batch. https://hl7.org/fhir/R4/terminology-service.html#batch */
// database: sqlite, because entries ask what terminology/operations.test.ts asks on each kind
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import terminology from '../../../plugins/terminology/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { postBundle } from '../../support/post-bundle.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

let server: TestServer
const GENDER = 'http://hl7.org/fhir/administrative-gender'
const SET = 'http://hl7.org/fhir/ValueSet/administrative-gender'
const V3 = 'http://terminology.hl7.org/CodeSystem/v3-AdministrativeGender'

test.before(async () => {
  server = await serverWith({ plugins: [database, stubDefinitions('all'), ...fhirPlugins, terminology] })
})
test.after(() => server.stop())

const batch = async (entry: readonly object[]) => {
  const answer = await postBundle(server, 'batch', entry)
  return (answer.json() as any).entry.map(({ response, resource }: any) => ({
    status: Number(String(response.status).slice(0, 3)),
    resource: resource ?? response.outcome,
  }))
}
const valueIn = (resource: any, name: string): unknown => {
  const found = resource.parameter?.find((one: any) => one.name === name) ?? {}
  return Object.entries(found).find(([member]) => member.startsWith('value'))?.[1]
}
const get = (url: string) => ({ request: { method: 'GET', url } })
const post = (url: string, ...parameter: readonly object[]) => ({
  request: { method: 'POST', url },
  resource: { resourceType: 'Parameters', parameter },
})
const coding = (code: string) => ({ name: 'coding', valueCoding: { system: GENDER, code } })

test('entries by GET and POST are answered in their order, each with its own status', async () => {
  const url = { name: 'url', valueUri: SET }
  const male = `system=${GENDER}&code=male`
  const found = await batch([
    get(`ValueSet/$validate-code?url=${SET}&${male}`),
    post('ValueSet/$validate-code', url, coding('nonsense')),
    get(`CodeSystem/$validate-code?url=${GENDER}&code=female`),
    post('CodeSystem/$validate-code', coding('female')),
    get(`CodeSystem/$lookup?${male}`),
    post('CodeSystem/$lookup', coding('nonsense')),
    get(`ConceptMap/$translate?${male}&targetsystem=${V3}`),
    post('ConceptMap/$translate', coding('female'), { name: 'targetsystem', valueUri: V3 }),
    get(`ValueSet/$expand?url=${SET}&count=2`),
    post('ValueSet/$expand', url),
    get(`CodeSystem/$subsumes?system=${GENDER}&codeA=male&codeB=female`),
    post('CodeSystem/$subsumes', { ...coding('male'), name: 'codingA' }, { ...coding('male'), name: 'codingB' }),
    get('ValueSet/$expand?url=http://absent.example'),
  ])
  assert.equal(
    found.map(({ status }: any) => status),
    [200, 200, 200, 200, 200, 404, 200, 200, 200, 200, 200, 200, 404],
  )
  const shown = found.map(({ resource }: any) => resource)
  assert.equal(
    [0, 1, 2, 3, 6, 7].map((at) => valueIn(shown[at], 'result')),
    [true, false, true, true, true, true],
  )
  assert.is(valueIn(shown[4], 'display'), 'Male')
  assert.equal(
    [8, 9].map((at) => shown[at].expansion.contains.length),
    [2, 4],
  )
  assert.equal(
    [10, 11].map((at) => valueIn(shown[at], 'outcome')),
    ['not-subsumed', 'equivalent'],
  )
})

test('a hundred codes are checked in one batch, each with resources of its own', async () => {
  const own = (at: number) => ({
    name: 'tx-resource',
    resource: {
      resourceType: 'CodeSystem',
      url: 'http://own.example',
      status: 'active',
      content: 'complete',
      concept: [{ code: `c${at}` }],
    },
  })
  const found = await batch(
    Array.from({ length: 100 }, (_, at) =>
      post(
        'CodeSystem/$validate-code',
        { name: 'coding', valueCoding: { system: 'http://own.example', code: `c${at - (at % 2)}` } },
        own(at),
      ),
    ),
  )
  assert.equal(
    found.map(({ resource }: any) => valueIn(resource, 'result')),
    Array.from({ length: 100 }, (_, at) => at % 2 === 0),
  )
})

test.run()
