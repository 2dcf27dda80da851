/** $populate over HTTP: expressions, queries, Observations, and what is refused. */
// database: sqlite, because expressions are evaluated in the process; sdc/round-trip.test.ts is on each kind
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  answersIn,
  fhirPath,
  fhirQuery,
  initialExpression,
  type Json,
  launchContext,
  named,
  type SdcServer,
  sdcServer,
  sdcUrl,
  variable,
} from '../../support/sdc-server.ts'

let it: SdcServer
const FORM = 'http://forms.example/expressions'
const LOINC = 'http://loinc.org'

const form = (id: string, more: Json): Json => ({
  resourceType: 'Questionnaire',
  ...{ id, url: `http://forms.example/${id}`, version: '1.0', status: 'active' },
  ...more,
})
const patientContext = launchContext('patient', 'Patient')

test.before(async () => {
  it = await sdcServer()
  await it.put({
    resourceType: 'Patient',
    id: 'p1',
    name: [
      { family: 'Chalmers', given: ['Peter', 'James'] },
      { use: 'nickname', given: ['Jim'] },
    ],
    gender: 'male',
    birthDate: '1974-12-25',
  })
  await it.put({ resourceType: 'Patient', id: 'p2', name: [{ family: 'Other' }] })
  for (const [id, subject, value, date] of [
    ['o1', 'p1', 80, '2026-01-10T10:00:00Z'],
    ['o2', 'p1', 82, new Date(Date.now() - 86_400_000).toISOString()],
    ['o3', 'p2', 99, new Date().toISOString()],
    ['o4', 'p1', 70, '2001-01-01T10:00:00Z'],
  ] as const)
    await it.put({
      ...{ resourceType: 'Observation', id, status: 'final', effectiveDateTime: date },
      code: { coding: [{ system: LOINC, code: '29463-7' }] },
      subject: { reference: `Patient/${subject}` },
      valueQuantity: { value, unit: 'kg', system: 'http://unitsofmeasure.org', code: 'kg' },
    })
  await it.put(
    form('expressions', {
      extension: [
        patientContext,
        variable(fhirPath('%patient.name.first()', 'name')),
        variable(fhirQuery('Observation?patient={{%patient.id}}&_sort=-date', 'weights')),
      ],
      item: [
        {
          ...{ linkId: 'who', type: 'group', text: 'Who' },
          item: [
            { linkId: 'family', type: 'string', extension: [initialExpression(fhirPath('%name.family'))] },
            { linkId: 'born', type: 'date', extension: [initialExpression(fhirPath('%patient.birthDate'))] },
            {
              ...{
                linkId: 'gender',
                type: 'choice',
                answerValueSet: 'http://hl7.org/fhir/ValueSet/administrative-gender',
              },
              extension: [initialExpression(fhirPath('%patient.gender'))],
            },
            { linkId: 'note', type: 'display', text: 'Please check' },
          ],
        },
        {
          ...{ linkId: 'names', type: 'group', repeats: true },
          extension: [{ url: sdcUrl('itemPopulationContext'), valueExpression: fhirPath('%patient.name', 'one') }],
          item: [
            { linkId: 'given', type: 'string', repeats: true, extension: [initialExpression(fhirPath('%one.given'))] },
          ],
        },
        {
          ...{ linkId: 'weights', type: 'integer' },
          extension: [initialExpression(fhirPath('%weights.entry.count()'))],
        },
        {
          ...{ linkId: 'heavy', type: 'group', repeats: true },
          extension: [
            {
              url: sdcUrl('itemPopulationContext'),
              valueExpression: fhirQuery('Observation?patient={{%patient.id}}&value-quantity=gt75&_sort=date', 'heavy'),
            },
          ],
          item: [
            { linkId: 'kg', type: 'quantity', extension: [initialExpression(fhirPath('%heavy.value'))] },
            { linkId: 'source', type: 'reference', extension: [initialExpression(fhirPath('%heavy'))] },
          ],
        },
        { linkId: 'colour', type: 'string', initial: [{ valueString: 'red' }] },
        { linkId: 'empty', type: 'string' },
      ],
    }),
  )
})
test.after(() => it.server.stop())

const parameters = (...parameter: readonly Json[]): Json => ({ resourceType: 'Parameters', parameter })
const subject = { name: 'subject', valueReference: { reference: 'Patient/p1' } }
const local = { name: 'local', valueBoolean: true }
const canonical = (url: string): Json => ({ name: 'canonical', valueCanonical: url })

const populated = async (body: Json, url = '/Questionnaire/$populate'): Promise<Json> => {
  const answered = await it.post(url, body)
  assert.is(answered.status, 200, answered.text)
  return answered.json
}
const responseOf = (json: Json): Json => named(json, 'response')?.resource

const EXPECTED = {
  family: ['Chalmers'],
  born: ['1974-12-25'],
  gender: [{ system: 'http://hl7.org/fhir/administrative-gender', code: 'male' }],
  given: ['Peter', 'James', 'Jim'],
  weights: [3],
  colour: ['red'],
}

test('answers come from launch context, variables, queries and contexts of groups', async () => {
  const json = await populated(parameters(canonical(FORM), subject, local))
  const response = responseOf(json)
  assert.is(response.questionnaire, `${FORM}|1.0`)
  assert.is(response.status, 'in-progress')
  assert.equal(response.subject, { reference: 'Patient/p1' })
  const { kg, source, ...others } = answersIn(response)
  assert.equal(others, EXPECTED)
  assert.equal(
    (kg as Json[]).map(({ value }) => value),
    [80, 82],
  )
  assert.equal(source, [{ reference: 'Observation/o1' }, { reference: 'Observation/o2' }])
  assert.is(response.item.filter(({ linkId }: Json) => linkId === 'names').length, 2)
  assert.equal(response.item[0].item[3], { linkId: 'note', text: 'Please check' })
  assert.equal(response.item.at(-1), { linkId: 'empty' })
})

test('the response is a valid resource', async () => {
  const response = responseOf(await populated(parameters(canonical(FORM), subject, local)))
  const checked = await it.post('/QuestionnaireResponse/$validate', response)
  assert.not.ok(/"severity":"error"/.test(checked.text), checked.text)
})

test('the Questionnaire is named in each way, and once', async () => {
  const given = {
    name: 'context',
    part: [
      { name: 'name', valueString: 'patient' },
      { name: 'content', valueReference: { reference: 'Patient/p1' } },
    ],
  }
  const resource = (await it.get('/Questionnaire/expressions')).json
  const ways: readonly Json[] = [
    canonical(`${FORM}|1.0`),
    { name: 'questionnaire', valueUri: FORM },
    { name: 'questionnaire', valueReference: { reference: 'Questionnaire/expressions' } },
    { name: 'questionnaireRef', valueReference: { reference: 'Questionnaire/expressions' } },
    { name: 'questionnaire', resource },
  ]
  for (const way of ways) {
    const { family } = answersIn(responseOf(await populated(parameters(way, given))))
    assert.equal(family, ['Chalmers'], JSON.stringify(way).slice(0, 200))
  }
  const here = await populated(parameters(given), '/Questionnaire/expressions/$populate')
  assert.equal(answersIn(responseOf(here)).family, ['Chalmers'])
  for (const body of [parameters(given), parameters(canonical(FORM), { name: 'questionnaire', valueUri: FORM })]) {
    const answered = await it.post('/Questionnaire/$populate', body)
    assert.is(answered.status, 400, answered.text)
  }
  assert.is((await it.post('/Questionnaire/$populate', parameters(canonical('http://forms.example/none')))).status, 404)
})

test('a context is given as a resource, and an unknown one is named in the issues', async () => {
  const content = { resourceType: 'Patient', name: [{ family: 'Sent' }] }
  const context = (name: string): Json => ({
    name: 'context',
    part: [
      { name: 'name', valueString: name },
      { name: 'content', resource: content },
    ],
  })
  const json = await populated(parameters(canonical(FORM), context('patient'), context('nonsense')))
  assert.equal(answersIn(responseOf(json)).family, ['Sent'])
  assert.match(JSON.stringify(named(json, 'issues')), 'nonsense')
  assert.match(JSON.stringify(named(json, 'issues')), 'an expression in it has no value')
})

test('without local nothing is used that was not given', async () => {
  const json = await populated(parameters(canonical(FORM), subject))
  assert.equal(answersIn(responseOf(json)), { weights: [0], colour: ['red'] })
})

test('Observations answer an item with their codes, the newest within its period', async () => {
  const item = (linkId: string, type: string, value: number, more: Json = {}): Json => ({
    ...{ linkId, type, code: [{ system: LOINC, code: '29463-7' }] },
    ...more,
    extension: [
      ...(more.extension ?? []),
      {
        url: sdcUrl('observationLinkPeriod'),
        valueDuration: { value, unit: 'year', system: 'http://unitsofmeasure.org', code: 'a' },
      },
    ],
  })
  const unit = (code: string): Json => ({
    url: 'http://hl7.org/fhir/StructureDefinition/questionnaire-unit',
    valueCoding: { system: 'http://unitsofmeasure.org', code },
  })
  await it.put(
    form('observed', {
      item: [
        item('quantity', 'quantity', 1),
        item('kg', 'decimal', 1, { extension: [unit('kg')] }),
        item('pounds', 'decimal', 1, { extension: [unit('[lb_av]')] }),
        { ...item('other', 'decimal', 1), code: [{ system: LOINC, code: '8302-2' }] },
      ],
    }),
  )
  const answers = answersIn(
    responseOf(await populated(parameters(canonical('http://forms.example/observed'), subject, local))),
  )
  assert.match(JSON.stringify(answers.quantity), '"value":82,')
  assert.equal(answers.kg, [82])
  assert.is(answers.pounds, undefined)
  assert.is(answers.other, undefined)
})

test('an initial value of another type is left out', async () => {
  const item = [{ linkId: '1', type: 'text', initial: [{ valueCoding: { code: 'x' } }] }]
  const json = await populated(parameters({ name: 'questionnaire', resource: form('initial', { item }) }))
  assert.equal(responseOf(json).item, [{ linkId: '1' }])
})

test('a StructureMap is refused, and other languages are named in the issues', async () => {
  const map = { url: sdcUrl('sourceStructureMap'), valueCanonical: 'http://maps.example/m' }
  await it.put(form('mapped', { extension: [map], item: [{ linkId: '1', type: 'string' }] }))
  const refused = await it.post('/Questionnaire/$populate', parameters(canonical('http://forms.example/mapped')))
  assert.is(refused.status, 422, refused.text)
  assert.match(refused.text, 'http://maps.example/m')
  const cql = { language: 'text/cql', expression: 'x' }
  await it.put(form('cql', { item: [{ linkId: '1', type: 'string', extension: [initialExpression(cql)] }] }))
  const json = await populated(parameters(canonical('http://forms.example/cql')))
  assert.match(JSON.stringify(named(json, 'issues')), 'text/cql')
})

test('an expression without bound is given up, and holds nobody', async () => {
  const endless = "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!'.matches('^(a+)+$')"
  await it.put(
    form('endless', { item: [{ linkId: '1', type: 'boolean', extension: [initialExpression(fhirPath(endless))] }] }),
  )
  let longest = 0
  let last = performance.now()
  const watch = setInterval(() => {
    longest = Math.max(longest, performance.now() - last)
    last = performance.now()
  }, 5)
  const refused = await it.post('/Questionnaire/$populate', parameters(canonical('http://forms.example/endless')))
  clearInterval(watch)
  assert.is(refused.status, 422, refused.text)
  assert.match(refused.text, 'too-costly')
  assert.ok(longest < 500, `${longest} ms`)
  assert.equal(answersIn(responseOf(await populated(parameters(canonical(FORM), subject, local)))).family, ['Chalmers'])
})

test('no expression reaches other servers or hidden functions', async () => {
  for (const expression of [
    "'http://127.0.0.1:1/x'.resolve()",
    "%patient.gender.memberOf('http://x')",
    "/* ' */ 'http://127.0.0.1:1/x'.resolve() /* ' */",
    "%terminologies.expand('x')",
  ]) {
    const item = [{ linkId: '1', type: 'string', extension: [initialExpression(fhirPath(expression))] }]
    const json = await populated(parameters({ name: 'questionnaire', resource: form('evil', { item }) }))
    assert.equal(answersIn(responseOf(json)), {}, expression)
    assert.match(JSON.stringify(named(json, 'issues')), 'not performed here', expression)
  }
})

test('/metadata lists the operation', async () => {
  const { rest } = (await it.get('/metadata')).json
  const { operation } = rest[0].resource.find(({ type }: Json) => type === 'Questionnaire')
  assert.ok(operation.some(({ name }: Json) => name === 'populate'))
})

test.run()
