/** Codes, MIME types, canonicals and URIs as R4 compares them. https://hl7.org/fhir/R4/search.html#token, #uri */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

let server: TestServer
const headers = { 'content-type': 'application/fhir+json' }
const put = async (resource: { resourceType: string; id: string } & Record<string, unknown>): Promise<void> => {
  const url = `/${resource.resourceType}/${resource.id}`
  const answer = await server.inject({ method: 'PUT', url, headers, payload: JSON.stringify(resource) })
  assert.ok(answer.statusCode < 300, answer.body)
}
const finds = async (url: string, ids: string): Promise<void> => {
  const answer = await server.inject(url)
  assert.is(answer.statusCode, 200, `${url} ${answer.body}`)
  const found = ((answer.json().entry ?? []) as { resource: { id: string } }[]).map(({ resource }) => resource.id)
  assert.is(found.sort().join(' '), ids, url)
}
const refuses = async (url: string, reason: RegExp): Promise<void> => {
  const answer = await server.inject(url)
  assert.is(answer.statusCode, 400, `${url} ${answer.body}`)
  assert.match(answer.json().issue[0].diagnostics, reason)
}

const TYPES = {
  png: 'image/png',
  upper: 'IMAGE/JPEG',
  text: 'text/plain; charset=UTF-8',
  bare: 'text/plain',
  imagery: 'imagery/x',
}
const BASE = 'http://a.example/fhir'

test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), ...fhirPlugins],
    settings: { conformance: { update_as_create: true } },
  })
  for (const [id, contentType] of Object.entries(TYPES))
    await put({
      resourceType: 'DocumentReference',
      id,
      status: 'current',
      content: [{ attachment: { contentType, url: 'http://x' } }],
    })
  const PROFILES = {
    none: `${BASE}/p`,
    one: `${BASE}/p|1`,
    minor: `${BASE}/p|1.2`,
    beta: `${BASE}/p|1-beta`,
    ten: `${BASE}/p|10`,
    deep: `${BASE}/p/q`,
  }
  for (const [id, canonical] of Object.entries(PROFILES)) {
    await put({ resourceType: 'Basic', id, meta: { profile: [canonical] }, code: { text: 'x' } })
    await put({ resourceType: 'QuestionnaireResponse', id, status: 'completed', questionnaire: canonical })
  }
})
test.after(() => server.stop())

test(':below a MIME type finds its subtypes, whatever their case and parameters', async () => {
  await finds('/DocumentReference?contenttype:below=image', 'png upper')
  await finds('/DocumentReference?contenttype:below=image/', 'png upper')
  await finds('/DocumentReference?contenttype:below=IMAGE', 'png upper')
  await finds('/DocumentReference?contenttype:below=image/png', 'png')
  await finds('/DocumentReference?contenttype:below=image/jpeg', 'upper')
  await finds('/DocumentReference?contenttype:below=text/plain', 'bare text')
  await finds('/DocumentReference?contenttype:below=text,imagery', 'bare imagery text')
  await finds('/DocumentReference?contenttype=image', '')
  await finds('/DocumentReference?contenttype=image/png', 'png')
  await refuses('/DocumentReference?contenttype:above=image', /:above/)
})

test('a canonical without a version finds every version, one with it that one', async () => {
  for (const [type, name] of [
    ['Basic', '_profile'],
    ['QuestionnaireResponse', 'questionnaire'],
  ]) {
    await finds(`/${type}?${name}=${BASE}/p`, 'beta minor none one ten')
    await finds(`/${type}?${name}=${BASE}/p|1`, 'one')
    await finds(`/${type}?${name}=${BASE}/p|3`, '')
  }
})

test(':below a canonical with a version finds what begins with it at a dot or a dash', async () => {
  for (const [type, name] of [
    ['Basic', '_profile'],
    ['QuestionnaireResponse', 'questionnaire'],
  ]) {
    await finds(`/${type}?${name}:below=${BASE}/p|1`, 'beta minor one')
    await finds(`/${type}?${name}:below=${BASE}/p|1.2`, 'minor')
    await finds(`/${type}?${name}:below=${BASE}/p/`, 'deep')
    await finds(`/${type}?${name}:below=${BASE}/p`, 'beta deep minor none one ten')
    await finds(`/${type}?${name}:above=${BASE}/p|1.2`, 'minor one')
    await finds(`/${type}?${name}:above=${BASE}/p/q`, 'beta deep minor none one ten')
  }
  await refuses('/Observation?subject:below=http://x', /:below/)
})

test(':above and :below do not go for URNs', async () => {
  for (const modifier of ['above', 'below'])
    for (const urn of ['urn:oid:1.2.3', 'URN:uuid:0-0']) {
      await refuses(`/Basic?_profile:${modifier}=${urn}`, /URN/)
      await refuses(`/ValueSet?url:${modifier}=http://a,${urn}`, /URN/)
      await refuses(`/QuestionnaireResponse?questionnaire:${modifier}=${urn}`, /URN/)
    }
  await finds('/Basic?_profile=urn:oid:1.2.3', '')
})

test.run()
