/** What is cached of a restriction never outlives what it stands for: parameters, systems of codes, versions, time. */
// memory: reads wait there while a transaction is open
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin, type Restriction, systemClock } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { matching } from '../../support/restrictions.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'
import { until } from '../../support/until.ts'

type Json = Record<string, any>

let restriction: Restriction | undefined
let ahead = 0
const clock = { ...systemClock, now: () => Date.now() + ahead }
const gate = definePlugin({
  name: 'gate',
  setup({ hooks }) {
    hooks.authorize.tap('restrict', (_request, _interaction, ruling) => {
      if (restriction !== undefined) ruling.restrict(restriction)
    })
  },
})

let server: TestServer
test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), gate, ...fhirPlugins],
    settings: { conformance: { update_as_create: true } },
    clock,
  })
})
test.after(() => server.stop())
test.after.each(() => {
  restriction = undefined
  ahead = 0
})

const put = async (resource: Json): Promise<void> => {
  const kept = restriction
  restriction = undefined
  const { resourceType, id } = resource
  const headers = { 'content-type': 'application/fhir+json' }
  const url = `/${resourceType}/${id}`
  const answer = await server.inject({ method: 'PUT', url, headers, payload: JSON.stringify(resource) })
  assert.ok(answer.statusCode < 300, answer.body)
  restriction = kept
}
const status = async (url: string): Promise<number> => (await server.inject(url)).statusCode
const patient = (id: string, more: Json): Json => ({ resourceType: 'Patient', id, ...more })

test('a version is decided on by itself, one after the other', async () => {
  await put(patient('v', { active: true }))
  restriction = matching('Patient', 'active=true')
  for (let n = 0; n < 2; n += 1) assert.is(await status('/Patient/v'), 200)
  await put(patient('v', { active: false }))
  for (let n = 0; n < 2; n += 1) assert.is(await status('/Patient/v'), 404)
  assert.is(await status('/Patient/v/_history/1'), 200)
  await put(patient('v', { active: true, language: 'en' }))
  assert.is(await status('/Patient/v'), 200)
})

test('a search parameter that is changed decides by what it means now', async () => {
  const parameter = (expression: string): Json => ({
    resourceType: 'SearchParameter',
    id: 'mark',
    url: 'http://example.org/mark',
    name: 'mark',
    status: 'active',
    description: 'A mark',
    code: 'mark',
    base: ['Patient'],
    type: 'token',
    expression,
  })
  const complete = (): Promise<void> => {
    const kept = restriction
    restriction = undefined
    return until(async () => (await status('/Patient?mark=x')) !== 503, 10_000, 'the index of mark').finally(() => {
      restriction = kept
    })
  }
  await put(patient('m', { active: true, language: 'en', gender: 'male' }))
  await put(parameter('Patient.language'))
  await complete()
  restriction = matching('Patient', 'mark=en')
  for (let n = 0; n < 2; n += 1) assert.is(await status('/Patient/m'), 200)
  await put(parameter('Patient.gender'))
  await complete()
  assert.is(await status('/Patient/m'), 404)
  assert.is((await server.inject('/Patient?_id=m&_total=accurate')).json().total, 0)
})

test('a code that is first used with another system later is excluded by :not from then on', async () => {
  const observation = (id: string, system: string, code: string): Json => ({
    resourceType: 'Observation',
    id,
    status: 'final',
    code: { coding: [{ system, code }] },
  })
  await put(observation('s1', 'http://one', 'SECRET'))
  await put(observation('s2', 'http://one', 'PUBLIC'))
  restriction = matching('Observation', 'code:not=SECRET')
  const found = async (): Promise<readonly string[]> =>
    ((await server.inject('/Observation')).json().entry ?? []).map(({ resource }: Json) => resource.id)
  assert.equal(await found(), ['s2'])
  assert.is(await status('/Observation/s1'), 404)
  await put(observation('s3', 'http://two', 'SECRET'))
  assert.equal(await found(), ['s2'])
  assert.is(await status('/Observation/s3'), 404)
})

test('a date that is compared with the present is compared with the present of each request', async () => {
  const born = new Date(Date.now() - 10 * 86_400_000).toISOString().slice(0, 10)
  await put(patient('ap', { birthDate: born }))
  restriction = matching('Patient', `birthdate=ap${new Date().toISOString().slice(0, 10)}`)
  assert.is(await status('/Patient/ap'), 404)
  // R4: about means within a tenth of the distance from now.
  ahead = 400 * 86_400_000
  assert.is(await status('/Patient/ap'), 200)
})

test('one restriction decides for each type and right by itself', async () => {
  await put(patient('r', { active: true }))
  await put({ resourceType: 'Practitioner', id: 'r', active: true })
  restriction = {
    types: {
      Patient: [
        { rights: 'r', query: 'active=true' },
        { rights: 's', query: 'active=false' },
      ],
    },
    others: [{ rights: 'r', query: '_id=r' }],
  }
  assert.equal(await Promise.all(['/Patient/r', '/Practitioner/r'].map(status)), [200, 200])
  assert.is((await server.inject('/Patient?_id=r&_total=accurate')).json().total, 0)
  assert.is(await status('/Practitioner'), 403)
})

test.run()
