/** examples/consent-plugin.ts over HTTP. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import consentPlugin from '../../examples/consent-plugin.ts'
import database from '../../plugins/database/index.ts'
import { fhirPlugins } from '../support/fhir-plugins.ts'
import { named } from '../support/named-callers.ts'
import { serverWith } from '../support/server-with.ts'
import { stubDefinitions } from '../support/stub-definitions.ts'

type Json = Record<string, any>

const DEFINITIONS = ['Patient', 'Observation', 'Practitioner', 'Consent', 'Reference', 'CodeableConcept', 'Coding']
const PARAMETERS = /^(SearchParameter-(Consent|Observation|Patient|clinical)-|CompartmentDefinition-patient)/
const CATEGORIES = 'http://terminology.hl7.org/CodeSystem/observation-category'

test('a category that a patient denies to one caller is hidden from that caller, and from no other', async () => {
  const server = await serverWith({
    plugins: [database, stubDefinitions(DEFINITIONS, PARAMETERS), named, consentPlugin, ...fhirPlugins],
    settings: { conformance: { update_as_create: true } },
  })
  const ask = async (method: 'GET' | 'PUT' | 'DELETE', url: string, user?: string, body?: Json) => {
    const headers = {
      ...(user === undefined ? {} : { 'x-test-client': 'app', 'x-test-user': user }),
      ...(body === undefined ? {} : { 'content-type': 'application/fhir+json' }),
    }
    const payload = body === undefined ? {} : { payload: JSON.stringify(body) }
    const { statusCode, body: text } = await server.inject({ method, url, headers, ...payload })
    return { status: statusCode, json: (text === '' ? {} : JSON.parse(text)) as Json, text }
  }
  const put = async (resource: Json): Promise<void> => {
    const { status, text } = await ask('PUT', `/${resource.resourceType}/${resource.id}`, undefined, resource)
    assert.ok(status < 300, text)
  }
  const observation = (id: string, patient: string, category: string): Promise<void> =>
    put({
      resourceType: 'Observation',
      id,
      status: 'final',
      code: { text: 'x' },
      category: [{ coding: [{ system: CATEGORIES, code: category }] }],
      subject: { reference: `Patient/${patient}` },
    })
  const deny = (status: string): Promise<void> =>
    put({
      resourceType: 'Consent',
      id: 'c',
      status,
      patient: { reference: 'Patient/a' },
      provision: {
        type: 'deny',
        actor: [{ reference: { reference: 'Practitioner/denied' } }],
        code: [{ coding: [{ system: CATEGORIES, code: 'therapy' }] }],
      },
    })
  const found = async (user: string): Promise<readonly string[]> =>
    ((await ask('GET', '/Observation', user)).json.entry ?? []).map(({ resource }: Json) => resource.id).sort()
  try {
    await observation('a-therapy', 'a', 'therapy')
    await observation('a-vital', 'a', 'vital-signs')
    await observation('b-therapy', 'b', 'therapy')
    const everything = ['a-therapy', 'a-vital', 'b-therapy']
    for (const user of ['Practitioner/denied', 'Practitioner/other']) assert.equal(await found(user), everything, user)

    await deny('active')
    assert.equal(await found('Practitioner/denied'), ['a-vital', 'b-therapy'])
    assert.equal(await found('Practitioner/other'), everything)
    for (const [user, status] of [
      ['Practitioner/denied', 404],
      ['Practitioner/other', 200],
    ] as const)
      assert.is((await ask('GET', '/Observation/a-therapy', user)).status, status, user)
    assert.is((await ask('DELETE', '/Observation/a-therapy', 'Practitioner/denied')).status, 404)
    assert.is((await ask('GET', '/Observation/b-therapy', 'Practitioner/denied')).status, 200)

    // The patient thinks otherwise.
    await deny('inactive')
    assert.equal(await found('Practitioner/denied'), everything)
  } finally {
    await server.stop()
  }
})

test.run()
