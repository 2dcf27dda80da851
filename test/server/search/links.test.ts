/**
 * Chains, `_has` and includes over every way a resource can name another: relative, versioned, absolute, canonical.
 * https://hl7.org/fhir/R4/references.html
 */
// npm test: sqlite and postgres, whose statements differ
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

let server: TestServer
const headers = { 'content-type': 'application/fhir+json' }
const put = async (resource: Record<string, any>): Promise<void> => {
  const url = `/${resource.resourceType}/${resource.id}`
  const answer = await server.inject({ method: 'PUT', url, headers, payload: JSON.stringify(resource) })
  assert.ok(answer.statusCode < 300, answer.body)
}
const observation = (id: string, reference: string) =>
  put({ resourceType: 'Observation', id, status: 'final', code: { text: 'x' }, subject: { reference } })
const response = (id: string, questionnaire: string) =>
  put({ resourceType: 'QuestionnaireResponse', id, status: 'completed', questionnaire })
const questionnaire = (id: string, url: string, version: string | undefined, title: string) =>
  put({ resourceType: 'Questionnaire', id, status: 'active', url, version, title })

test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), ...fhirPlugins],
    settings: { server: { public_url: 'http://localhost:80' }, conformance: { update_as_create: true } },
  })
  await put({ resourceType: 'Patient', id: 'p', name: [{ family: 'Pax' }], gender: 'male', active: true })
  await put({ resourceType: 'Patient', id: 'other', name: [{ family: 'Other' }], gender: 'female' })
  await observation('relative', 'Patient/p')
  await observation('versioned', 'Patient/p/_history/1')
  await observation('absolute', 'http://localhost:80/Patient/p')
  await observation('both', 'http://localhost:80/Patient/p/_history/1')
  await observation('foreign', 'http://elsewhere.example/Patient/p')
  await questionnaire('q1', 'http://q.example/one', '1', 'First')
  await questionnaire('q2', 'http://q.example/one', '2', 'Second')
  await questionnaire('q3', 'http://q.example/three', undefined, 'Third')
  await response('any', 'http://q.example/one')
  await response('of1', 'http://q.example/one|1')
  await response('of2', 'http://q.example/one|2')
  await response('of3', 'http://q.example/three')
  await response('of9', 'http://q.example/nine')
})
test.after(() => server.stop())

const entriesOf = async (url: string, mode: string): Promise<string> => {
  const answer = await server.inject(url)
  assert.is(answer.statusCode, 200, `${url} ${answer.body.slice(0, 300)}`)
  return (answer.json().entry ?? [])
    .filter((entry: any) => entry.search.mode === mode)
    .map((entry: any) => entry.resource.id)
    .sort()
    .join(' ')
}
const find = (url: string) => entriesOf(url, 'match')
const included = (url: string) => entriesOf(url, 'include')

const OURS = 'absolute both relative versioned'

test('a chain follows references with a version and URLs under our own base, and no others', async () => {
  assert.is(await find('/Observation?subject:Patient.name=pax'), OURS)
  assert.is(await find('/Observation?patient.gender=male'), OURS)
  assert.is(await find('/Observation?subject:Patient.name=pax&status=final&_count=100'), OURS)
  assert.is(await find('/Observation?subject:Patient.name=other'), '')
})

test('_has finds what they refer to', async () => {
  assert.is(await find('/Patient?_has:Observation:subject:status=final'), 'p')
  for (const id of OURS.split(' ')) assert.is(await find(`/Patient?_has:Observation:patient:_id=${id}`), 'p', id)
  assert.is(await find('/Patient?_has:Observation:patient:_id=foreign'), '')
})

test('_include and _revinclude take them too', async () => {
  for (const id of OURS.split(' '))
    assert.is(await included(`/Observation?_id=${id}&_include=Observation:subject`), 'p', id)
  assert.is(await included('/Observation?_id=foreign&_include=Observation:subject'), '')
  assert.is(await included('/Patient?_id=p&_revinclude=Observation:subject'), OURS)
  assert.is(await included('/Patient?_id=p&_revinclude=*'), OURS)
})

test('a search by reference finds all spellings of our own resources', async () => {
  assert.is(await find('/Observation?subject=Patient/p'), OURS)
  assert.is(await find('/Observation?patient=p'), OURS)
  assert.is(await find('/Observation?subject=http://localhost:80/Patient/p'), OURS)
  assert.is(await find('/Observation?subject=http://elsewhere.example/Patient/p'), 'foreign')
})

test('the Host that a request was sent to decides about no reference', async () => {
  for (const host of ['elsewhere.example', 'localhost:80', 'another.example']) {
    const answer = await server.inject({ url: '/Observation?subject:Patient.name=pax', headers: { host } })
    const ids = answer.json().entry.map((entry: any) => entry.resource.id)
    assert.is(ids.sort().join(' '), OURS, host)
  }
})

test('a chain over a canonical leads to the resources of that url, and of that version', async () => {
  assert.is(await find('/QuestionnaireResponse?questionnaire.title=first'), 'any of1')
  assert.is(await find('/QuestionnaireResponse?questionnaire.title=second'), 'any of2')
  assert.is(await find('/QuestionnaireResponse?questionnaire:Questionnaire.title=third'), 'of3')
  assert.is(await find('/QuestionnaireResponse?questionnaire.status=active'), 'any of1 of2 of3')
  assert.is(await find('/Questionnaire?_has:QuestionnaireResponse:questionnaire:_id=any'), 'q1 q2')
  assert.is(await find('/Questionnaire?_has:QuestionnaireResponse:questionnaire:_id=of1'), 'q1')
  assert.is(await find('/Questionnaire?_has:QuestionnaireResponse:questionnaire:_id=of9'), '')
})

test('canonicals are included forwards and backwards', async () => {
  const include = '_include=QuestionnaireResponse:questionnaire'
  assert.is(await included(`/QuestionnaireResponse?_id=any&${include}`), 'q1 q2')
  assert.is(await included(`/QuestionnaireResponse?_id=of2&${include}`), 'q2')
  assert.is(await included(`/QuestionnaireResponse?_id=of2&${include}:Questionnaire`), 'q2')
  assert.is(await included('/QuestionnaireResponse?_id=of3&_include=*'), 'q3')
  assert.is(await included(`/QuestionnaireResponse?_id=of9&${include}`), '')
  assert.is(await included('/Questionnaire?_id=q1&_revinclude=QuestionnaireResponse:questionnaire'), 'any of1')
  assert.is(await included('/Questionnaire?_id=q3&_revinclude=*'), 'of3')
})

test('a resource with another url leads elsewhere from then on', async () => {
  await questionnaire('moving', 'http://q.example/nine', undefined, 'Nine')
  assert.is(await find('/QuestionnaireResponse?questionnaire.title=nine'), 'of9')
  await questionnaire('moving', 'http://q.example/ten', undefined, 'Nine')
  assert.is(await find('/QuestionnaireResponse?questionnaire.title=nine'), '')
  await server.inject({ method: 'DELETE', url: '/Questionnaire/moving' })
})

test('a code has the system of the value set it is bound to', async () => {
  const GENDER = 'http://hl7.org/fhir/administrative-gender'
  assert.is(await find(`/Patient?gender=${GENDER}%7Cmale`), 'p')
  assert.is(await find(`/Patient?gender=${GENDER}%7Cmale,${GENDER}%7Cfemale`), 'other p')
  assert.is(await find(`/Patient?gender=${GENDER}%7C`), 'other p')
  assert.is(await find(`/Patient?gender:not=${GENDER}%7Cmale`), 'other')
  assert.is(await find('/Patient?gender=http://somewhere.example%7Cmale'), '')
  assert.is(await find('/Patient?gender=male'), 'p')
  assert.is(await find('/Patient?gender=%7Cmale'), 'p')
  assert.is(await find('/Observation?status=http://hl7.org/fhir/observation-status%7Cfinal&_id=relative'), 'relative')
  assert.is(await find(`/Observation?patient.gender=${GENDER}%7Cmale&_id=relative`), 'relative')
  assert.is(await find('/Patient?active=http://terminology.hl7.org/CodeSystem/special-values%7Ctrue'), 'p')
})

test.run()
