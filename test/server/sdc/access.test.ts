/** Forms read as their caller: what is hidden changes no answer, and the trail names who was shown. */
// database: sqlite, because forms read by sessions, which have tests on each kind in test/server/sessions
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin, type Restriction } from '../../../kernel/index.ts'
import audit from '../../../plugins/audit/index.ts'
import { createManualClock } from '../../support/manual-clock.ts'
import { inCompartment, onlyTypes } from '../../support/restrictions.ts'
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

const FORMS: Restriction = {
  types: { Questionnaire: [{ rights: 'rs' }] },
  others: [{ rights: 'cruds', compartment: { type: 'Patient', id: 'p1' } }],
}
const CALLERS: Readonly<Record<string, Restriction>> = {
  one: FORMS,
  formless: inCompartment('Patient', 'p1'),
  observations: onlyTypes('Questionnaire', 'Patient'),
}
const guard = definePlugin({
  name: 'guard',
  setup({ hooks }) {
    hooks.authenticate.tap('by header', ({ headers }) => {
      const client = headers['x-test-client']
      return typeof client === 'string' ? { kind: 'client', client } : undefined
    })
    hooks.authorize.tap('by name', ({ caller }, _interaction, ruling) => {
      const restriction = CALLERS[caller.client ?? '']
      if (restriction !== undefined) ruling.restrict(restriction)
    })
  },
})

let it: SdcServer
const LOINC = 'http://loinc.org'
const observation = (id: string, patient: string, value: number): Json => ({
  ...{ resourceType: 'Observation', id, status: 'final', effectiveDateTime: '2026-01-10T10:00:00Z' },
  code: { coding: [{ system: LOINC, code: '29463-7' }] },
  subject: { reference: `Patient/${patient}` },
  valueQuantity: { value, unit: 'kg' },
})
const FORM: Json = {
  ...{ resourceType: 'Questionnaire', id: 'form', url: 'http://forms.example/form', status: 'active' },
  extension: [
    launchContext('patient', 'Patient'),
    variable(fhirQuery('Observation?code=29463-7&_sort=_id', 'all')),
    variable(fhirQuery('Patient/p2', 'other')),
  ],
  item: [
    { linkId: 'count', type: 'integer', extension: [initialExpression(fhirPath('%all.entry.count()'))] },
    {
      linkId: 'values',
      type: 'decimal',
      repeats: true,
      extension: [initialExpression(fhirPath('%all.entry.resource.value.value'))],
    },
    { linkId: 'other', type: 'string', extension: [initialExpression(fhirPath('%other.name.family'))] },
    {
      ...{ linkId: 'observed', type: 'quantity', code: [{ system: LOINC, code: '29463-7' }] },
      extension: [{ url: sdcUrl('observationLinkPeriod'), valueDuration: { value: 1, unit: 'a' } }],
    },
  ],
}
const ask: Json = {
  resourceType: 'Parameters',
  parameter: [
    { name: 'canonical', valueCanonical: 'http://forms.example/form' },
    { name: 'subject', valueReference: { reference: 'Patient/p1' } },
    { name: 'local', valueBoolean: true },
  ],
}
const by = (client: string): Record<string, string> => ({ 'x-test-client': client })

test.before(async () => {
  it = await sdcServer({ others: [audit, guard], clock: createManualClock() })
  for (const id of ['p1', 'p2']) await it.put({ resourceType: 'Patient', id, name: [{ family: `of ${id}` }] })
  await it.put(FORM)
  await it.put(observation('o1', 'p1', 80))
})
test.after(() => it.server.stop())

test('what is hidden changes no answer of $populate, and everything is shown to who may see it', async () => {
  const before = await it.post('/Questionnaire/$populate', ask, by('one'))
  await it.put(observation('o2', 'p2', 90))
  await it.put(observation('o3', 'p2', 95))
  const after = await it.post('/Questionnaire/$populate', ask, by('one'))
  assert.is(before.status, 200, before.text)
  assert.is(after.text, before.text)
  const { values, count, other, observed } = answersIn(named(after.json, 'response')?.resource)
  assert.equal([values, count, other], [[80], [1], undefined])
  assert.is(observed?.length, 1)
  const all = answersIn(named((await it.post('/Questionnaire/$populate', ask)).json, 'response')?.resource)
  assert.equal([all.values, all.count, all.other], [[80, 90, 95], [3], ['of p2']])
})

test('a hidden patient is answered like one that never was', async () => {
  const of = (id: string): Json => {
    const expression = initialExpression(fhirQuery(`Patient/${id}`))
    const item = [{ linkId: '1', type: 'string', extension: [expression] }]
    return {
      resourceType: 'Parameters',
      parameter: [{ name: 'questionnaire', resource: { resourceType: 'Questionnaire', status: 'active', item } }],
    }
  }
  const hidden = await it.post('/Questionnaire/$populate', of('p2'), by('one'))
  const never = await it.post('/Questionnaire/$populate', of('p9'), by('one'))
  assert.is(hidden.status, 200, hidden.text)
  assert.is(hidden.text.replaceAll('p2', 'p9'), never.text)
})

test('a closed type gives nothing, and says so', async () => {
  const answered = await it.post('/Questionnaire/$populate', ask, by('observations'))
  assert.is(answered.status, 200, answered.text)
  assert.equal(answersIn(named(answered.json, 'response')?.resource), { count: [0], other: ['of p2'] })
  assert.match(JSON.stringify(named(answered.json, 'issues')), 'Observation')
})

test('a Questionnaire that may not be read is like one that is not there', async () => {
  const response = (url: string): Json => ({
    ...{ resourceType: 'QuestionnaireResponse', questionnaire: url, status: 'completed' },
    subject: { reference: 'Patient/p1' },
    item: [{ linkId: 'nonsense', answer: [{ valueString: 'x' }] }],
  })
  const hidden = await it.post(
    '/QuestionnaireResponse/$validate',
    response('http://forms.example/form'),
    by('formless'),
  )
  const never = await it.post('/QuestionnaireResponse/$validate', response('http://forms.example/fork'), by('formless'))
  assert.is(hidden.status, 200, hidden.text)
  assert.is(hidden.text.replaceAll('/form ', '/fork '), never.text)
  assert.is(
    (await it.post('/QuestionnaireResponse', response('http://forms.example/form'), by('formless'))).status,
    201,
  )
  assert.is((await it.post('/QuestionnaireResponse', response('http://forms.example/form'), by('one'))).status, 422)
  const extract = (url: string) => it.post('/QuestionnaireResponse/$extract', response(url), by('formless'))
  const [one, other] = [await extract('http://forms.example/form'), await extract('http://forms.example/fork')]
  assert.is(one.status, 404, one.text)
  assert.is(one.text.replaceAll('/form\\"', '/fork\\"'), other.text)
})

test('the trail names all patients whose data was used', async () => {
  await it.post('/Questionnaire/$populate', ask, by('auditor'))
  const { entry } = (await it.get('/_audit?agent=auditor')).json
  const text = JSON.stringify(entry)
  for (const id of ['p1', 'p2']) assert.match(text, `Patient/${id}`)
})

test.run()
