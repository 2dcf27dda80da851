/** Extensions are held to their definitions, wherever they stand. https://hl7.org/fhir/R4/extensibility.html */
// database: sqlite, because what a resource may hold is checked before anything is asked of the database
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import validation from '../../../plugins/validation/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

type Json = Record<string, any>

const CORE = 'http://hl7.org/fhir/StructureDefinition/'
const servers: Record<string, TestServer> = {}
const LEVELS = ['structure', 'rules', 'profiles'] as const

test.before(async () => {
  for (const validationLevel of LEVELS)
    servers[validationLevel] = await serverWith({
      plugins: [database, stubDefinitions('all'), validation, ...fhirPlugins],
      settings: { conformance: { validation: validationLevel } },
    })
})
test.after(async () => {
  for (const server of Object.values(servers)) await server.stop()
})

const post = async (resource: Json, level: string = 'profiles') => {
  const answer = await (servers[level] as TestServer).inject({
    method: 'POST',
    url: `/${resource.resourceType}`,
    headers: { 'content-type': 'application/fhir+json' },
    payload: JSON.stringify(resource),
  })
  const issues: readonly Json[] = answer.statusCode < 300 ? [] : answer.json().issue
  return {
    status: answer.statusCode,
    places: issues.map(({ expression }) => expression?.[0]),
    said: issues.map(({ diagnostics }) => diagnostics).join('\n'),
  }
}

const patient = (more: Json): Json => ({ resourceType: 'Patient', ...more })
const absent = (code: string): Json => ({ extension: [{ url: `${CORE}data-absent-reason`, valueCode: code }] })
const extension = (name: string, more: Json): Json => ({ url: CORE + name, ...more })
const PLACE = { valueAddress: { city: 'X' } }
const nationality = (...inner: readonly Json[]): Json => ({
  extension: [extension('patient-nationality', { extension: inner })],
})
const CODE = { url: 'code', valueCodeableConcept: { text: 'x' } }

const SOUND: Readonly<Record<string, Json>> = {
  'a reason for a value that is absent, on a primitive': patient({ _birthDate: absent('unknown') }),
  'on an element': patient({ maritalStatus: absent('masked') }),
  'on an item of a repeating primitive': patient({ name: [{ given: ['A', null], _given: [null, absent('unknown')] }] }),
  'a data type': patient({ extension: [extension('patient-birthPlace', PLACE)] }),
  'where the context is a primitive of the resource': patient({
    birthDate: '2020-01-01',
    _birthDate: { extension: [extension('patient-birthTime', { valueDateTime: '2020-01-01T00:00:00Z' })] },
  }),
  'where the context is part of a data type': patient({
    contact: [
      { name: { family: 'F', _family: { extension: [extension('humanname-own-prefix', { valueString: 'v' })] } } },
    ],
  }),
  'extensions in an extension': patient(nationality(CODE)),
  'one that is not installed': patient({ extension: [{ url: 'http://example.org/x', valueString: 'x' }] }),
  'a modifier among modifiers': {
    resourceType: 'NutritionOrder',
    status: 'active',
    intent: 'order',
    patient: { display: 'x' },
    dateTime: '2020-01-01',
    modifierExtension: [extension('request-doNotPerform', { valueBoolean: true })],
  },
}

for (const [what, resource] of Object.entries(SOUND))
  test(`an extension as its definition says is taken: ${what}`, async () => {
    const { status, said } = await post(resource)
    assert.is(status, 201, said)
  })

const contained = (resource: Json): Json =>
  patient({ contained: [{ id: 'a', ...resource }], managingOrganization: { reference: '#a' } })
const organization = (more: Json): Json => ({ resourceType: 'Organization', name: 'O', ...more })

const REFUSED: Readonly<Record<string, readonly [resource: Json, place: string, says: RegExp]>> = {
  'a value of another type': [
    patient({ extension: [extension('patient-birthPlace', { valueString: 'X' })] }),
    'Patient.extension[0].value',
    /its type string is not allowed; allowed are Address/,
  ],
  'a code outside of a required binding, on a primitive': [
    patient({ _birthDate: absent('because') }),
    'Patient.birthDate.extension[0].value',
    /"because" is not in the value set .*data-absent-reason/,
  ],
  'on an item of a repeating primitive': [
    patient({ name: [{ given: ['A', null], _given: [null, absent('because')] }] }),
    'Patient.name[0].given[1].extension[0].value',
    /because/,
  ],
  'on an element': [
    patient({ maritalStatus: absent('because') }),
    'Patient.maritalStatus.extension[0].value',
    /because/,
  ],
  'in a contained resource': [
    contained(organization({ _alias: [absent('because')] })),
    'Patient.contained[0].alias[0].extension[0].value',
    /because/,
  ],
  'in an entry of a Bundle': [
    { resourceType: 'Bundle', type: 'collection', entry: [{ resource: patient({ _birthDate: absent('because') }) }] },
    'Bundle.entry[0].resource.birthDate.extension[0].value',
    /because/,
  ],
  'in another extension': [
    patient(nationality({ ...CODE, valueCodeableConcept: absent('because') })),
    'Patient.extension[0].extension[0].value.extension[0].value',
    /because/,
  ],
  'on an element its contexts leave out': [
    organization({ extension: [extension('patient-birthPlace', PLACE)] }),
    'Organization.extension[0]',
    /may not stand on Organization; its definition allows Patient/,
  ],
  'on a part of a data type its contexts leave out': [
    patient({ name: [{ text: 'x', _text: { extension: [extension('humanname-own-prefix', { valueString: 'v' })] } }] }),
    'Patient.name[0].text.extension[0]',
    /may not stand on string; its definition allows HumanName\.family/,
  ],
  'in a contained resource its contexts leave out': [
    contained(organization({ extension: [extension('patient-birthPlace', PLACE)] })),
    'Patient.contained[0].extension[0]',
    /may not stand on Organization/,
  ],
  'more often than it may be': [
    patient({ extension: [extension('patient-birthPlace', PLACE), extension('patient-birthPlace', PLACE)] }),
    'Patient.extension[1]',
    /there 2 times, and one element may have 1/,
  ],
  'an inner extension more often than it may be': [
    patient(nationality(CODE, CODE)),
    'Patient.extension[0].extension',
    /the slice code is allowed at most once/,
  ],
  'an inner extension that its definition does not know': [
    patient(nationality({ url: 'codex', valueString: 'x' })),
    'Patient.extension[0].extension[0]',
    /has no part "codex"; its definition knows code, period/,
  ],
  'without an inner extension it needs': [
    patient({
      address: [
        { city: 'X', extension: [extension('geolocation', { extension: [{ url: 'latitude', valueDecimal: 1 }] })] },
      ],
    }),
    'Patient.address[0].extension[0].extension',
    /the slice longitude is required at least once/,
  ],
  'a value where there are extensions': [
    patient({ extension: [extension('patient-nationality', { valueString: 'x' })] }),
    'Patient.extension[0].value',
    /the element value is not allowed/,
  ],
  'a modifier among those that are none': [
    {
      ...(SOUND['a modifier among modifiers'] as Json),
      modifierExtension: undefined,
      extension: [extension('request-doNotPerform', { valueBoolean: true })],
    },
    'NutritionOrder.extension[0]',
    /belongs into modifierExtension, not into extension/,
  ],
  'one that is no modifier among modifiers': [
    patient({ modifierExtension: [extension('patient-birthPlace', PLACE)] }),
    'Patient.modifierExtension[0]',
    /belongs into extension, not into modifierExtension/,
  ],
}

for (const [what, [resource, place, says]] of Object.entries(REFUSED))
  test(`an extension against its definition is refused: ${what}`, async () => {
    const { status, places, said } = await post(resource)
    assert.is(status, 422, said)
    assert.ok(places.includes(place), `${place} in ${places}\n${said}`)
    assert.match(said, says)
  })

test('extensions are checked with the rules of the type, and not with the structure alone', async () => {
  const wrong = patient({ _birthDate: absent('because') })
  assert.equal(await Promise.all(LEVELS.map(async (level) => (await post(wrong, level)).status)), [201, 422, 422])
})

test('a fault of an extension is told once, where a profile that is claimed asks for the same', async () => {
  const { places } = await post({
    ...patient({ _birthDate: absent('because') }),
    meta: { profile: [`${CORE}Patient`] },
  })
  assert.equal(places, ['Patient.birthDate.extension[0].value'])
})

test.run()
