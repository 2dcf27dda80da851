/** $extract over HTTP: Observations, definitions, templates, and what is refused. */
// database: sqlite, because resources are made in the process; sdc/round-trip.test.ts is on each kind
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { fhirPath, type Json, named, type SdcServer, sdcServer, sdcUrl } from '../../support/sdc-server.ts'

let it: SdcServer
const CORE = 'http://hl7.org/fhir/StructureDefinition/'
const LOINC = 'http://loinc.org'

const form = (id: string, more: Json): Json => ({
  resourceType: 'Questionnaire',
  ...{ id, url: `http://forms.example/${id}`, version: '1.0', status: 'active' },
  ...more,
})
const response = (id: string, item: readonly Json[], more: Json = {}): Json => ({
  resourceType: 'QuestionnaireResponse',
  ...{ questionnaire: `http://forms.example/${id}`, status: 'completed', authored: '2026-02-03T10:00:00Z' },
  ...{ subject: { reference: 'Patient/p1' }, author: { reference: 'Patient/p1' } },
  ...more,
  item,
})
const part = (url: string, value: Json): Json => ({ url, ...value })
const extractValue = (definition: string, value: Json): Json => ({
  url: sdcUrl('definitionExtractValue'),
  extension: [part('definition', { valueUri: `${CORE}${definition}` }), value],
})
const fixed = (value: Json): Json => part('fixed-value', value)
const calculated = (expression: string): Json => part('expression', { valueExpression: fhirPath(expression) })
const definitionExtract = (type: string, ...more: readonly Json[]): Json => ({
  url: sdcUrl('definitionExtract'),
  extension: [part('definition', { valueCanonical: `${CORE}${type}` }), ...more],
})
const templateValue = (expression: string): Json => ({
  extension: [{ url: sdcUrl('templateExtractValue'), valueString: expression }],
})
const templateContext = (expression: string): Json => ({
  url: sdcUrl('templateExtractContext'),
  valueString: expression,
})

test.before(async () => {
  it = await sdcServer()
  await it.put({ resourceType: 'Patient', id: 'p1', name: [{ family: 'Chalmers' }] })
})
test.after(() => it.server.stop())

const extracted = async (body: Json): Promise<Json> => {
  const answered = await it.post('/QuestionnaireResponse/$extract', body)
  assert.is(answered.status, 200, answered.text)
  return answered.json
}
const resourcesIn = (bundle: Json): Json[] => bundle.entry.map(({ resource }: Json) => resource)

const coded = (linkId: string, code: string, type: string, more: Json = {}): Json => ({
  ...{ linkId, type, text: linkId, code: [{ system: LOINC, code }] },
  ...more,
})

test('Observations are made of coded answers, panels of marked groups', async () => {
  const extension = (value: Json): Json => ({ url: sdcUrl('observationExtract'), ...value })
  const category = {
    coding: [{ system: 'http://terminology.hl7.org/CodeSystem/observation-category', code: 'survey' }],
  }
  await it.put(
    form('observations', {
      extension: [
        extension({ valueBoolean: true }),
        { url: sdcUrl('observation-extract-category'), valueCodeableConcept: category },
      ],
      item: [
        coded('weight', '29463-7', 'decimal', {
          extension: [
            {
              url: `${CORE}questionnaire-unit`,
              valueCoding: { system: 'http://unitsofmeasure.org', code: 'kg', display: 'kilogram' },
            },
          ],
        }),
        coded('no', '1-1', 'string', { extension: [extension({ valueBoolean: false })] }),
        { linkId: 'uncoded', type: 'string' },
        coded('pressure', '85354-9', 'group', {
          extension: [extension({ valueBoolean: true })],
          item: [
            coded('systolic', '8480-6', 'integer', { extension: [extension({ valueCode: 'component' })] }),
            coded('mood', '1-2', 'choice', {
              extension: [extension({ valueCode: 'member' })],
              answerOption: [{ valueCoding: { code: 'a' } }],
            }),
          ],
        }),
      ],
    }),
  )
  const bundle = await extracted(
    response('observations', [
      { linkId: 'weight', answer: [{ valueDecimal: 80.5 }] },
      { linkId: 'no', answer: [{ valueString: 'x' }] },
      { linkId: 'uncoded', answer: [{ valueString: 'x' }] },
      {
        linkId: 'pressure',
        item: [
          { linkId: 'systolic', answer: [{ valueInteger: 120 }] },
          { linkId: 'mood', answer: [{ valueCoding: { system: 'http://codes', code: 'a' } }] },
        ],
      },
    ]),
  )
  assert.is(bundle.type, 'transaction')
  const [weight, pressure, mood] = resourcesIn(bundle) as [Json, Json, Json]
  assert.is(bundle.entry.length, 3)
  assert.equal(weight.valueQuantity, { value: 80.5, unit: 'kilogram', system: 'http://unitsofmeasure.org', code: 'kg' })
  assert.equal(weight.category, [category])
  assert.equal(weight.subject, { reference: 'Patient/p1' })
  assert.is(weight.status, 'final')
  assert.equal(pressure.component, [
    { code: { coding: [{ system: LOINC, code: '8480-6' }], text: 'systolic' }, valueInteger: 120 },
  ])
  assert.equal(pressure.hasMember, [{ reference: bundle.entry[2].fullUrl }])
  assert.equal(mood.valueCodeableConcept, { coding: [{ system: 'http://codes', code: 'a' }] })
  const stored = await it.post('/', bundle)
  assert.is(stored.status, 200, stored.text)
})

const PATIENT: Json = form('definitions', {
  extension: [{ url: sdcUrl('extractAllocateId'), valueString: 'newPatient' }],
  item: [
    {
      ...{ linkId: 'patient', type: 'group' },
      extension: [definitionExtract('Patient', part('fullUrl', { valueString: '%newPatient' }))],
      item: [
        {
          ...{ linkId: 'name', type: 'group', repeats: true, definition: `${CORE}Patient#Patient.name` },
          extension: [
            extractValue(
              'Patient#Patient.name.text',
              calculated("item.where(linkId='given' or linkId='family').answer.value.join(' ')"),
            ),
          ],
          item: [
            { linkId: 'given', type: 'string', repeats: true, definition: `${CORE}Patient#Patient.name.given` },
            { linkId: 'family', type: 'string', definition: `${CORE}Patient#Patient.name.family` },
          ],
        },
        {
          linkId: 'gender',
          type: 'choice',
          definition: `${CORE}Patient#Patient.gender`,
          answerOption: [{ valueCoding: { code: 'male' } }],
        },
        {
          ...{ linkId: 'phone', type: 'string', repeats: true, definition: `${CORE}Patient#Patient.telecom.value` },
          extension: [extractValue('Patient#Patient.telecom.system', fixed({ valueCode: 'phone' }))],
        },
      ],
    },
    {
      ...{
        linkId: 'height',
        type: 'decimal',
        definition: `${CORE}Observation#Observation.value[x]:valueQuantity.value`,
      },
      extension: [
        definitionExtract('Observation', part('ifNoneExist', { valueString: "'identifier=' + %resource.status" })),
        extractValue('Observation#Observation.status', fixed({ valueCode: 'final' })),
        extractValue('Observation#Observation.code.coding', fixed({ valueCoding: { system: LOINC, code: '8302-2' } })),
        extractValue('Observation#Observation.subject.reference', calculated('%newPatient')),
        extractValue('Observation#Observation.effective', calculated('%resource.authored')),
        extractValue('Observation#Observation.value[x]:valueQuantity.unit', fixed({ valueString: 'm' })),
      ],
    },
    {
      ...{ linkId: 'unanswered', type: 'string', definition: `${CORE}Observation#Observation.valueString` },
      extension: [
        definitionExtract('Observation'),
        extractValue('Observation#Observation.status', fixed({ valueCode: 'final' })),
      ],
    },
  ],
})
const ANSWERS: readonly Json[] = [
  {
    linkId: 'patient',
    item: [
      {
        linkId: 'name',
        item: [
          { linkId: 'given', answer: [{ valueString: 'Peter' }, { valueString: 'James' }] },
          { linkId: 'family', answer: [{ valueString: 'Chalmers' }] },
        ],
      },
      { linkId: 'name', item: [{ linkId: 'given', answer: [{ valueString: 'Jim' }] }] },
      {
        linkId: 'gender',
        answer: [{ valueCoding: { system: 'http://hl7.org/fhir/administrative-gender', code: 'male' } }],
      },
      { linkId: 'phone', answer: [{ valueString: '1' }, { valueString: '2' }] },
    ],
  },
  { linkId: 'height', answer: [{ valueDecimal: 1.8 }] },
]

test('resources are made by the definitions of items', async () => {
  await it.put(PATIENT)
  const bundle = await extracted(response('definitions', ANSWERS))
  const [first, second] = bundle.entry
  assert.is(bundle.entry.length, 2)
  assert.match(first.fullUrl, /^urn:uuid:[0-9a-f-]{36}$/)
  assert.equal(first.request, { method: 'POST', url: 'Patient' })
  assert.equal(first.resource, {
    resourceType: 'Patient',
    name: [
      { text: 'Peter James Chalmers', given: ['Peter', 'James'], family: 'Chalmers' },
      { text: 'Jim', given: ['Jim'] },
    ],
    gender: 'male',
    telecom: [
      { system: 'phone', value: '1' },
      { system: 'phone', value: '2' },
    ],
  })
  assert.equal(second.request, { method: 'POST', url: 'Observation', ifNoneExist: 'identifier=completed' })
  assert.equal(second.resource, {
    resourceType: 'Observation',
    status: 'final',
    code: { coding: [{ system: LOINC, code: '8302-2' }] },
    subject: { reference: first.fullUrl },
    effectiveDateTime: '2026-02-03T10:00:00Z',
    valueQuantity: { unit: 'm', value: 1.8 },
  })
  const stored = await it.post('/', bundle)
  assert.is(stored.status, 200, stored.text)
})

test('an id makes an update, a single create is returned alone', async () => {
  const item = [
    { linkId: 'id', type: 'string', definition: `${CORE}Patient#Patient.id` },
    { linkId: 'born', type: 'date', definition: `${CORE}Patient#Patient.birthDate` },
  ]
  await it.put(form('update', { extension: [definitionExtract('Patient')], item }))
  const born = { linkId: 'born', answer: [{ valueDate: '1974-12-25' }] }
  const bundle = await extracted(response('update', [{ linkId: 'id', answer: [{ valueString: 'p1' }] }, born]))
  assert.equal(bundle.entry[0].request, { method: 'PUT', url: 'Patient/p1' })
  const alone = await extracted(response('update', [born]))
  assert.equal(alone, { resourceType: 'Patient', birthDate: '1974-12-25' })
  // JSON allows null among items and answers, and FHIR does not.
  const none = null as unknown as Json
  for (const items of [
    [none, born, 'born'],
    [{ ...born, answer: [none, ...born.answer] }],
    [{ ...born, item: [none] }],
  ])
    assert.equal(await extracted(response('update', items as Json[])), alone)
})

test('resources are made of templates', async () => {
  const template: Json = {
    ...{ resourceType: 'Patient', id: 'template', gender: 'unknown', active: true },
    name: [
      {
        extension: [templateContext("item.where(linkId = 'name')")],
        _family: templateValue("item.where(linkId = 'family').answer.value.first()"),
        _given: [templateValue("item.where(linkId = 'given').answer.value")],
      },
    ],
    telecom: [
      {
        extension: [templateContext("item.where(linkId = 'phone').answer.value")],
        ...{ system: 'phone', _value: templateValue('first()') },
      },
    ],
    _gender: templateValue("item.where(linkId = 'gender').answer.value.code"),
    _birthDate: templateValue("item.where(linkId = 'born').answer.value"),
    generalPractitioner: [templateValue("item.where(linkId = 'practitioner').answer.value")],
    managingOrganization: templateValue("'Organization/' + %resource.status"),
  }
  const items = PATIENT.item[0].item
  await it.put(
    form('template', {
      contained: [template],
      item: [
        {
          ...{ linkId: 'patient', type: 'group', item: items },
          extension: [
            {
              url: sdcUrl('templateExtract'),
              extension: [
                part('template', { valueReference: { reference: '#template' } }),
                part('resourceId', { valueString: "'from-' + %resource.status" }),
              ],
            },
          ],
        },
      ],
    }),
  )
  const bundle = await extracted(response('template', [ANSWERS[0] as Json]))
  assert.equal(bundle.entry[0].request, { method: 'PUT', url: 'Patient/from-completed' })
  assert.equal(bundle.entry[0].resource, {
    ...{ resourceType: 'Patient', gender: 'male', active: true, id: 'from-completed' },
    name: [{ family: 'Chalmers', given: ['Peter', 'James'] }, { given: ['Jim'] }],
    telecom: [
      { system: 'phone', value: '1' },
      { system: 'phone', value: '2' },
    ],
    managingOrganization: { reference: 'Organization/completed' },
  })
})

test('a contained Bundle is a template for all resources', async () => {
  const entry = (context: string, resource: Json, url: string): Json => ({
    extension: [templateContext(context)],
    ...{ fullUrl: `urn:example:${url}`, resource, request: { method: 'POST', url } },
  })
  const bundleTemplate = {
    ...{ resourceType: 'Bundle', id: 'all', type: 'transaction' },
    entry: [
      entry(
        "item.where(linkId = 'patient')",
        { resourceType: 'Patient', _gender: templateValue("item.where(linkId='gender').answer.value.code") },
        'Patient',
      ),
      entry("item.where(linkId = 'none')", { resourceType: 'Basic', code: { text: 'x' } }, 'Basic'),
    ],
  }
  const extension = [{ url: sdcUrl('templateExtractBundle'), valueReference: { reference: '#all' } }]
  const item = [{ linkId: 'patient', type: 'group', item: PATIENT.item[0].item }]
  await it.put(form('bundle', { contained: [bundleTemplate], extension, item }))
  const json = await extracted(response('bundle', [ANSWERS[0] as Json]))
  assert.equal(json, { resourceType: 'Patient', gender: 'male' })
})

test('stored responses are extracted at their address', async () => {
  await it.put({ ...response('definitions', ANSWERS), id: 'r1' })
  const answered = await it.post('/QuestionnaireResponse/r1/$extract', { resourceType: 'Parameters' })
  assert.is(answered.json.entry.length, 2, answered.text)
  assert.is((await it.get('/QuestionnaireResponse/r1/$extract')).status, 200)
  assert.is((await it.get('/QuestionnaireResponse/none/$extract')).status, 404)
})

test('what cannot be extracted is refused, or said in the issues', async () => {
  const post = (body: Json) => it.post('/QuestionnaireResponse/$extract', body)
  assert.is((await post(response('unknown', []))).status, 404)
  assert.is((await post({ resourceType: 'Parameters' })).status, 400)
  assert.is((await post(response('definitions', [], { status: 'entered-in-error' }))).status, 422)
  const map = { url: sdcUrl('targetStructureMap'), valueCanonical: 'http://maps.example/m' }
  await it.put(form('map', { extension: [map], item: [{ linkId: '1', type: 'string' }] }))
  assert.is((await post(response('map', []))).status, 422)
  const nothing = await extracted(response('definitions', []))
  assert.match(JSON.stringify(named(nothing, 'issues')), 'nothing to extract')
  assert.is(named(nothing, 'return'), undefined)
  const draft = await extracted(response('definitions', ANSWERS, { status: 'in-progress' }))
  assert.match(JSON.stringify(named(draft, 'issues')), 'preliminary')
  assert.is(named(draft, 'return')?.resource.entry.length, 2)
})

test.run()
