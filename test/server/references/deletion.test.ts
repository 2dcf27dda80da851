/** Under reference_policy = "strict" what others refer to is not deleted. */
// npm test: sqlite and postgres, whose statements differ
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import references from '../../../plugins/references/index.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'
import { type Answered, type Clinic, clinicWith, del, type Json, post, put } from '../writes/clinic.ts'

let clinic: Clinic
test.before(async () => {
  clinic = await clinicWith({ server: { public_url: 'http://clinic.example' } }, [references])
})
test.after(() => clinic.stop())

const observation = (more: Json): Json => ({
  resourceType: 'Observation',
  status: 'final',
  code: { text: 'x' },
  ...more,
})
const remove = (url: string): Promise<Answered> => clinic.ask('DELETE', `/${url}`)
const patient = async (): Promise<string> => `Patient/${await clinic.create({ resourceType: 'Patient' })}`
const made = async (resource: Json): Promise<string> => {
  const answer = await clinic.ask('POST', `/${resource.resourceType}`, resource)
  assert.is(answer.status, 201, answer.text)
  return `${resource.resourceType}/${answer.json.id}`
}
const refused = (answer: Answered, ...says: readonly string[]): void => {
  assert.is(answer.status, 409, answer.text)
  const [{ code, diagnostics }] = answer.json.issue
  assert.is(code, 'conflict')
  for (const one of says) assert.ok(diagnostics.includes(one), diagnostics)
}

test('the refusal counts what refers to it by type, and it goes when they are gone', async () => {
  const target = await patient()
  const subject = { reference: target }
  const referrers = [
    await made(observation({ subject })),
    await made(observation({ subject, performer: [subject] })),
    await made({ resourceType: 'Encounter', status: 'finished', class: { code: 'AMB' }, subject }),
  ]
  refused(await remove(target), target, 'it is referred to by 2 Observation, 1 Encounter resources.')
  assert.is((await clinic.ask('GET', `/${target}`)).status, 200)
  for (const referrer of referrers) assert.is((await remove(referrer)).status, 204)
  assert.is((await remove(target)).status, 204)
  assert.is((await remove(target)).status, 204)
})

test('a reference counts wherever it stands, also where no search parameter looks', async () => {
  const valueReference = (reference: string) => ({ url: 'http://example.org/e', valueReference: { reference } })
  for (const [where, referrer] of [
    ['an extension', (target: string) => ({ resourceType: 'Patient', extension: [valueReference(target)] })],
    [
      'a primitive',
      (target: string) => ({ resourceType: 'Patient', _birthDate: { extension: [valueReference(target)] } }),
    ],
    [
      'a contained resource',
      (target: string) => ({
        resourceType: 'Patient',
        contained: [observation({ id: 'o', subject: { reference: target } })],
      }),
    ],
    [
      'a data type',
      (target: string) => ({
        resourceType: 'Basic',
        code: { text: 'x' },
        extension: [
          { url: 'http://example.org/e', valueAnnotation: { text: 'x', authorReference: { reference: target } } },
        ],
      }),
    ],
    [
      'an element nobody searches',
      (target: string) => ({
        resourceType: 'List',
        status: 'current',
        mode: 'working',
        note: [{ text: 'x', authorReference: { reference: target } }],
      }),
    ],
    ['a version', (target: string) => observation({ subject: { reference: `${target}/_history/1` } })],
    [
      'a version in an extension',
      (target: string) => ({ resourceType: 'Patient', extension: [valueReference(`${target}/_history/1`)] }),
    ],
    [
      'a URL of this server',
      (target: string) => observation({ subject: { reference: `http://clinic.example/${target}` } }),
    ],
    [
      'a URL in an extension',
      (target: string) => ({ resourceType: 'Patient', extension: [valueReference(`http://clinic.example/${target}`)] }),
    ],
    [
      'an entry of a Bundle',
      (target: string) => ({
        resourceType: 'Bundle',
        type: 'collection',
        entry: [
          {
            fullUrl: 'urn:uuid:1a0d7a3c-5b3e-4c73-8a43-b3ee0a5c1ff0',
            resource: observation({ subject: { reference: target } }),
          },
        ],
      }),
    ],
  ] as [string, (target: string) => Json][]) {
    const target = await patient()
    const url = await made(referrer(target))
    const answer = await remove(target)
    assert.is(answer.status, 409, where)
    refused(answer, `1 ${url.split('/')[0]}`)
    assert.is((await remove(url)).status, 204, where)
    assert.is((await remove(target)).status, 204, where)
  }
})

test('an update that no longer refers to it lets it go, one that begins to keeps it', async () => {
  const target = await patient()
  const url = await made(observation({ subject: { reference: target } }))
  const id = url.slice('Observation/'.length)
  assert.is((await clinic.ask('PUT', `/${url}`, observation({ id }))).status, 200)
  const other = await patient()
  const extension = [{ url: 'http://example.org/e', valueReference: { reference: other } }]
  assert.is((await clinic.ask('PUT', `/${url}`, observation({ id, extension }))).status, 200)
  assert.is((await remove(target)).status, 204)
  refused(await remove(other), 'it is referred to by 1 Observation resource.')
})

test('what refers to itself alone can be deleted', async () => {
  const target = await patient()
  const id = target.slice('Patient/'.length)
  const self = { resourceType: 'Patient', id, link: [{ other: { reference: target }, type: 'seealso' }] }
  assert.is((await clinic.ask('PUT', `/${target}`, self)).status, 200)
  assert.is((await remove(target)).status, 204)
})

test('a transaction that deletes both passes in either order; one that deletes the target alone does not', async () => {
  for (const order of [1, -1]) {
    const target = await patient()
    const url = await made(observation({ subject: { reference: target } }))
    const alone = await clinic.bundle('transaction', [post({ resourceType: 'Patient' }), del(target)])
    refused(alone, target)
    assert.equal(alone.json.issue[0].expression, ['Bundle.entry[1]'])
    const answer = await clinic.bundle(
      'transaction',
      [del(target), del(url)].toSorted(() => order),
    )
    assert.is(answer.status, 200, answer.text)
  }
})

test('a transaction may delete what its own update stops referring to', async () => {
  const target = await patient()
  const url = await made(observation({ subject: { reference: target } }))
  const id = url.slice('Observation/'.length)
  const answer = await clinic.bundle('transaction', [del(target), put(observation({ id }))])
  assert.is(answer.status, 200, answer.text)
})

test('a resource inside and what its Bundle resolves do not keep it', async () => {
  const target = await patient()
  const id = target.slice('Patient/'.length)
  await made({
    resourceType: 'Bundle',
    type: 'collection',
    entry: [
      { fullUrl: `http://other.example/Patient/${id}`, resource: { resourceType: 'Patient', id } },
      { fullUrl: 'http://other.example/Observation/1', resource: observation({ subject: { reference: target } }) },
    ],
  })
  assert.is((await remove(target)).status, 204)
})

test('a canonical does not keep it, where it is searched for either', async () => {
  const definitions = stubDefinitions(['QuestionnaireResponse', 'Questionnaire'], /^SearchParameter-QuestionnaireRes/)
  const server = await serverWith({ plugins: [database, definitions, ...fhirPlugins, references] })
  const json = { 'content-type': 'application/fhir+json' }
  const send = (resource: Json) =>
    server.inject({
      method: 'POST',
      url: `/${resource.resourceType}`,
      headers: json,
      payload: JSON.stringify(resource),
    })
  const { id } = (await send({ resourceType: 'Questionnaire', status: 'draft' })).json() as Json
  const questionnaire = `Questionnaire/${id}`
  await send({ resourceType: 'QuestionnaireResponse', status: 'completed', questionnaire })
  const found = await server.inject(`/QuestionnaireResponse?questionnaire=${questionnaire}`)
  assert.is((found.json() as Json).entry?.length, 1)
  assert.is((await server.inject({ method: 'DELETE', url: `/${questionnaire}` })).statusCode, 204)
  await server.stop()
})

test('what was stored under the other policy counts as what it is: a URL of another server keeps nothing', async () => {
  const { settings, remove: drop } = await chosenKind.fresh()
  if (chosenKind.name !== 'memory') {
    const policy = (name: string): Record<string, unknown> => ({
      ...settings,
      conformance: { reference_policy: name, update_as_create: true },
    })
    const loose = await clinicWith(policy('fhir'), [references])
    const extension = (reference: string) => [{ url: 'http://example.org/e', valueReference: { reference } }]
    for (const [id, reference] of [
      ['a', 'http://other.example/Patient/there'],
      ['b', 'Patient/kept'],
    ] as const)
      await loose.ask('PUT', `/Patient/${id}`, { resourceType: 'Patient', id, extension: extension(reference) })
    for (const id of ['there', 'kept']) await loose.ask('PUT', `/Patient/${id}`, { resourceType: 'Patient', id })
    await loose.stop()
    const tight = await clinicWith(policy('strict'), [references])
    assert.is((await tight.ask('DELETE', '/Patient/there')).status, 204)
    assert.is((await tight.ask('DELETE', '/Patient/kept')).status, 409)
    await tight.stop()
  }
  await drop()
})

test('a thousand are counted and no more', async () => {
  const target = await patient()
  const entry = Array.from({ length: 1_002 }, () => post(observation({ subject: { reference: target } })))
  assert.is((await clinic.bundle('transaction', entry)).status, 200)
  refused(await remove(target), 'more than 1000 resources')
})

test.run()
