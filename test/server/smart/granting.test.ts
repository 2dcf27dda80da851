/** Scopes at the token endpoint: what is granted of what is asked for, by the packages that are installed. */
// database: sqlite, because scopes are compared in the process; smart/scopes.test.ts is on each kind
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import smart from '../../../plugins/smart/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import type { TestServer } from '../../support/server-with.ts'
import { askToken, assertionOf, registerService, type Service, smartServer } from '../../support/smart-server.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

const ELEMENTS = ['Element', 'Extension', 'Meta', 'Coding', 'CodeableConcept', 'Reference', 'Identifier']

let server: TestServer
let service: Service
test.before(async () => {
  const definitions = stubDefinitions(
    ['Patient', 'Observation', 'Condition', ...ELEMENTS],
    /^SearchParameter-(Patient|Observation|Condition|Resource|clinical|individual)-/,
  )
  server = await smartServer({ plugins: [database, definitions, ...fhirPlugins, smart] })
  service = await registerService(server, { scope: 'system/*.cruds' })
})
test.after(() => server.stop())

/** What is granted, or the error. */
const granted = async (scope: string, of = service): Promise<string> => {
  const answer = await askToken(server, await assertionOf(of), { scope })
  const { scope: given, error } = answer.json() as { scope?: string; error?: string }
  assert.is(answer.statusCode, error === undefined ? 200 : 400, answer.body)
  return given ?? error ?? ''
}

test('a condition by a search parameter of the type is granted as it was asked for', async () => {
  for (const scope of [
    'system/Observation.rs?category=laboratory&status=final,amended',
    'system/Observation.rs?category=http://terminology.hl7.org/CodeSystem/observation-category|laboratory',
    'system/Observation.cruds?date=ge2020-01-01',
    'system/Condition.rs?patient=Patient/p1',
    'system/*.rs?_tag=http://tags.example|x',
    'system/Patient.rs?_id=a,b',
  ])
    assert.is(await granted(scope), scope)
})

test('one whose condition this server cannot decide on the resource alone is refused, never granted without it', async () => {
  for (const condition of [
    'unknown=x',
    'gender=female',
    'code:in=http://sets.example/vs',
    'code:not=x',
    'subject:missing=true',
    'patient.birthdate=1990',
    'subject:Patient.gender=female',
    '_filter=status eq final',
    '_has:Provenance:target:agent=x',
    '_list=l',
    '_text=x',
    '_count=1',
    '_include=Observation:subject',
    'date=not-a-date',
    'date=ap2020-01-01',
    'category=',
    'status=final&unknown=x',
  ]) {
    const scope = `system/Observation.rs?${condition.replaceAll(' ', '%20')}`
    assert.is(await granted(scope), 'invalid_scope', scope)
    assert.is(await granted(`${scope} system/Patient.rs`), 'system/Patient.rs', scope)
  }
  // Under * the parameter has to be one of every type.
  assert.is(await granted('system/*.rs?status=final'), 'invalid_scope')
})

test('types that are not installed, and what is no scope, are left out', async () => {
  for (const scope of [
    'system/Foo.rs',
    'system/Goal.read',
    'system/observation.rs',
    'system/Observation.sr',
    'patient/*.rs',
  ])
    assert.is(await granted(scope), 'invalid_scope', scope)
  assert.is(
    await granted('system/Foo.rs system/Observation.read openid system/Patient.s'),
    'system/Observation.read system/Patient.s',
  )
})

test('a client gets of what it asks for what it is registered for', async () => {
  const narrow = await registerService(server, { scope: 'system/Observation.rs?status=final system/Patient.read' })
  assert.is(await granted('system/*.cruds', narrow), 'system/Observation.rs?status=final system/Patient.rs')
  assert.is(await granted('system/*.*', narrow), 'system/Patient.read')
  assert.is(await granted('system/Condition.rs', narrow), 'invalid_scope')
})

test('each scope that discovery lists is granted alone', async () => {
  const { scopes_supported: listed } = (await server.inject('/.well-known/smart-configuration')).json() as {
    scopes_supported: readonly string[]
  }
  assert.ok(listed.length > 0)
  for (const scope of listed) assert.is(await granted(scope), scope)
})

test.run()
