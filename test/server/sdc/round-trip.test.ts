/**
 * A form of the kind that the guide of Structured Data Capture shows for demographics: $populate fills it from the patient and
 * those related, and $extract makes the same resources of it again. https://hl7.org/fhir/uv/sdc/
 */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Json, type SdcServer, sdcServer } from '../../support/sdc-server.ts'

const SDC = 'http://hl7.org/fhir/uv/sdc/StructureDefinition/sdc-questionnaire-'
const R4 = 'http://hl7.org/fhir/StructureDefinition/'
const FORM = 'http://forms.example/people'

const initial = (text: string): Json => ({
  url: `${SDC}initialExpression`,
  valueExpression: { language: 'text/fhirpath', expression: text },
})
const population = (name: string, language: string, text: string): Json => ({
  url: `${SDC}itemPopulationContext`,
  valueExpression: { name, language, expression: text },
})
const extracts = (type: string): Json => ({
  url: `${SDC}definitionExtract`,
  extension: [{ url: 'definition', valueCanonical: `${R4}${type}` }],
})
/** An item that is mapped to an element, `Patient.name.family`, and filled from an expression. */
const field = (path: string, type: string, from: string, more: Json = {}): Json => ({
  ...{ linkId: path, definition: `${R4}${path.replace(/\..*/, '')}#${path}`, type, extension: [initial(from)] },
  ...more,
})
const names = (type: string, context: Json, of: string): Json => ({
  ...{ linkId: `${type}.name`, definition: `${R4}${type}#${type}.name`, type: 'group', repeats: true },
  extension: [context],
  item: [
    field(`${type}.name.family`, 'string', `%${of}.family`, { required: true }),
    field(`${type}.name.given`, 'string', `%${of}.given`, { repeats: true }),
  ],
})
const form: Json = {
  ...{
    resourceType: 'Questionnaire',
    id: 'people',
    url: FORM,
    version: '1',
    status: 'active',
    subjectType: ['Patient'],
  },
  extension: [
    {
      url: `${SDC}launchContext`,
      extension: [
        {
          url: 'name',
          valueCoding: { system: 'http://hl7.org/fhir/uv/sdc/CodeSystem/launchContext', code: 'patient' },
        },
        { url: 'type', valueCode: 'Patient' },
      ],
    },
    extracts('Patient'),
  ],
  item: [
    field('Patient.id', 'string', '%patient.id', { readOnly: true }),
    field('Patient.birthDate', 'date', '%patient.birthDate', { required: true }),
    names('Patient', population('ownName', 'text/fhirpath', '%patient.name'), 'ownName'),
    {
      ...{ linkId: 'related', type: 'group', repeats: true, text: 'Relatives' },
      extension: [
        population('relative', 'application/x-fhir-query', 'RelatedPerson?patient={{%patient.id}}'),
        extracts('RelatedPerson'),
      ],
      item: [
        field('RelatedPerson.id', 'string', '%relative.id', { readOnly: true }),
        field('RelatedPerson.relationship', 'choice', '%relative.relationship', { repeats: true }),
        names('RelatedPerson', population('otherName', 'text/fhirpath', '%relative.name'), 'otherName'),
      ],
    },
  ],
}
const patient: Json = {
  ...{ resourceType: 'Patient', id: 'p1', birthDate: '1970-01-02' },
  name: [
    { family: 'Doe', given: ['Ann', 'B.'] },
    { family: 'Roe', given: ['Anna'] },
  ],
}
const WIFE = { system: 'http://terminology.hl7.org/CodeSystem/v3-RoleCode', code: 'WIFE' }
const related = (id: string, family: string): Json => ({
  ...{ resourceType: 'RelatedPerson', id, patient: { reference: 'Patient/p1' }, relationship: [{ coding: [WIFE] }] },
  name: [{ family, given: ['Bo'] }],
})

let it: SdcServer
test.before(async () => {
  it = await sdcServer()
  for (const one of [form, patient, related('r1', 'One'), related('r2', 'Two')]) await it.put(one)
})
test.after(() => it.server.stop())

/** `linkId: values`, items below others behind them. */
const lines = (items: readonly Json[] = []): readonly string[] =>
  items.flatMap(({ linkId, answer = [], item }) => [
    [linkId, ...answer.map((one: Json) => one.valueCoding?.code ?? Object.values(one)[0])].join(' '),
    ...lines(item),
  ])
/** By the order of ids, whatever the order in which the search gives them. */
const byId = (one: Json, other: Json): number => (one.resource.id < other.resource.id ? -1 : 1)

test('what $populate fills in, $extract takes out again', async () => {
  const subject = { name: 'subject', valueReference: { reference: 'Patient/p1' } }
  const parameter = [subject, { name: 'local', valueBoolean: true }]
  const populated = await it.post('/Questionnaire/people/$populate', { resourceType: 'Parameters', parameter })
  assert.is(populated.status, 200, populated.text)
  assert.is(
    populated.json.parameter.find(({ name }: Json) => name === 'issues'),
    undefined,
  )
  const { resource } = populated.json.parameter.find(({ name }: Json) => name === 'response')
  assert.is(resource.questionnaire, `${FORM}|1`)
  assert.is(resource.status, 'in-progress')
  const [first, ...others] = resource.item.slice(-2)
  const own = ['Patient.id p1', 'Patient.birthDate 1970-01-02']
  assert.equal(lines(resource.item.slice(0, -2)), [
    ...own,
    ...['Patient.name', 'Patient.name.family Doe', 'Patient.name.given Ann B.'],
    ...['Patient.name', 'Patient.name.family Roe', 'Patient.name.given Anna'],
  ])
  assert.equal(
    lines([first, ...others])
      .filter((line) => /family|relationship/.test(line))
      .sort(),
    [
      ...['RelatedPerson.name.family One', 'RelatedPerson.name.family Two'],
      ...['RelatedPerson.relationship WIFE', 'RelatedPerson.relationship WIFE'],
    ],
  )

  const extracted = await it.post('/QuestionnaireResponse/$extract', { ...resource, status: 'completed' })
  assert.is(extracted.status, 200, extracted.text)
  const entries = [...extracted.json.entry].sort(byId)
  assert.equal(
    entries.map(({ request }) => `${request.method} ${request.url}`),
    ['PUT Patient/p1', 'PUT RelatedPerson/r1', 'PUT RelatedPerson/r2'],
  )
  const { patient: _patient, ...expected } = related('r1', 'One')
  assert.equal(entries.map((one) => one.resource).slice(0, 2), [patient, expected])
})

test.run()
