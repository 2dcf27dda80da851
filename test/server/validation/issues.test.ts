/** What the issues of an OperationOutcome say, in which order, and that none hides another. */
// database: sqlite, because what a resource may hold is checked before anything is asked of the database
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import validation from '../../../plugins/validation/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

type Json = Record<string, any>

let server: TestServer
test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), validation, ...fhirPlugins],
    settings: { conformance: { update_as_create: true } },
  })
})
test.after(() => server.stop())

const send = async (url: string, body: Json | string, prefer = 'return=OperationOutcome') => {
  const answer = await server.inject({
    method: 'POST',
    url,
    headers: { 'content-type': 'application/fhir+json', prefer },
    payload: typeof body === 'string' ? body : JSON.stringify(body),
  })
  const issue: readonly Json[] = answer.json().issue
  return { status: answer.statusCode, issue, said: issue.map(({ diagnostics }) => diagnostics).join('\n') }
}
const NARRATIVE = { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml"><u>x</u></div>' }
const severities = ({ issue }: { readonly issue: readonly Json[] }): string =>
  issue.map(({ severity }) => severity[0]).join('')

test('errors stand before warnings, of a refused write and of $validate', async () => {
  const patient = { resourceType: 'Patient', text: NARRATIVE, contact: [{ gender: 'male' }], gender: 'none' }
  const refused = await send('/Patient', patient)
  assert.is(refused.status, 422, refused.said)
  assert.is(severities(refused), 'eew', refused.said)
  assert.is(severities(await send('/Patient/$validate', patient)), 'eew')
  const profile = 'http://hl7.org/fhir/StructureDefinition/vitalsigns'
  const observation = { resourceType: 'Observation', text: NARRATIVE, status: 'final', code: { text: 'x' } }
  const asked = await send(`/Observation/$validate?profile=${profile}`, observation)
  assert.match(severities(asked), /^e+w+$/, asked.said)
})

test('a warning inside of a resource hides no rule of the resource', async () => {
  const warned = { resourceType: 'Patient', text: NARRATIVE }
  const bundle = { resourceType: 'Bundle', type: 'collection', total: 1, entry: [{ resource: warned }] }
  const { status, said } = await send('/Bundle', bundle)
  assert.is(status, 422, said)
  assert.match(said, /bdl-1/)
})

test('a warning hides no integer that is spelled as a decimal', async () => {
  const { status, said } = await send(
    '/Patient',
    `{"resourceType":"Patient","text":${JSON.stringify(NARRATIVE)},"multipleBirthInteger":1.0}`,
  )
  assert.is(status, 400, said)
  assert.match(said, /1\.0 is not a whole number/)
})

test('no number of warnings hides an error', async () => {
  const warned = { resource: { resourceType: 'Patient', text: NARRATIVE } }
  const wrong = { resource: { resourceType: 'Patient', gender: 'none' } }
  const entry = [...Array.from({ length: 150 }, () => warned), wrong]
  const first = await send('/Bundle', { resourceType: 'Bundle', type: 'collection', entry })
  assert.is(first.status, 422, first.said.slice(0, 300))
  assert.match(first.issue[0]?.diagnostics, /"none"/)
  assert.ok(first.issue.length <= 101, String(first.issue.length))
  // Warnings of profiles that are not installed, and an installed one that is broken.
  const profile = [
    ...Array.from({ length: 150 }, (_, at) => `http://example.org/${at}`),
    'http://hl7.org/fhir/StructureDefinition/vitalsigns',
  ]
  const claimed = { resourceType: 'Observation', meta: { profile }, status: 'final', code: { text: 'x' } }
  const second = await send('/Observation', claimed)
  assert.is(second.status, 422, second.said.slice(0, 300))
  assert.match(severities(second), /^e+w+$/)
})

test('two contained resources with one id are refused', async () => {
  const contained = (...ids: readonly string[]) => ({
    resourceType: 'Patient',
    contained: ids.map((id) => ({ resourceType: 'Organization', id, name: id })),
    generalPractitioner: [...new Set(ids)].map((id) => ({ reference: `#${id}` })),
  })
  const { status, issue } = await send('/Patient', contained('a', 'b', 'a'))
  assert.is(status, 422)
  assert.equal(
    issue.map(({ expression }) => expression[0]),
    ['Patient.contained[2].id'],
  )
  assert.match(issue[0]?.diagnostics, /contained\[0\] has the id "a" too; give each/)
  assert.is((await send('/Patient', contained('a', 'b'))).status, 201)
})

test('a value without a code is named by what it has', async () => {
  const said = async (code: Json) =>
    (
      await send('/Observation/$validate?profile=http://hl7.org/fhir/StructureDefinition/vitalsigns', {
        resourceType: 'Observation',
        status: 'final',
        code,
      })
    ).said
  const text = await said({ text: 'Pulse' })
  assert.match(text, /the text "Pulse" without a coding is not in the value set/)
  assert.not.match(text, /"#"/)
  assert.match(
    await said({ coding: [{ display: 'Pulse' }] }),
    /"a coding without system and code" is not in the value set/,
  )
  assert.match(await said({ coding: [{ code: 'p' }] }), /"p without a system" is not in the value set/)
  assert.match(await said({ coding: [{ system: 'http://x.y', code: 'p' }] }), /"http:\/\/x\.y#p" is not in/)
})

test('a reference is a string: a urn that is none is a warning that says why', async () => {
  const patient = (reference: string) => ({ resourceType: 'Patient', managingOrganization: { reference } })
  for (const [reference, why] of [
    ['urn:uuid:1', /"urn:uuid:1" refers to nothing: after urn:uuid: there is no UUID/],
    ['urn:oid:X.Y', /"urn:oid:X\.Y" refers to nothing: .*no OID/],
  ] as const) {
    const { status, issue, said } = await send('/Patient', patient(reference))
    assert.is(status, 201, said)
    const [warning, ...more] = issue.filter(({ severity }) => severity === 'warning')
    assert.equal(warning?.expression, ['Patient.managingOrganization.reference'], said)
    assert.match(warning?.diagnostics, why)
    assert.is(more.length, 0, said)
  }
  const sound = await send('/Patient', patient('urn:uuid:53FEFA32-fcbb-4ff8-8a92-55ee120877b7'))
  assert.is(severities(sound), 'i', sound.said)
  const blank = await send('/Patient', patient('Organization/a b'))
  assert.is(blank.status, 400)
  assert.match(blank.said, /a URI without white space/)
})

test.run()
