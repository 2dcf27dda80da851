/** $assemble, $next-question and $questionnaire-package over HTTP; and the plugin without its package. */
// database: sqlite, because forms are put together in the process; sdc/round-trip.test.ts is on each kind
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { formDefinitions } from '../../support/form-definitions.ts'
import {
  fhirPath,
  type Json,
  launchContext,
  named,
  type SdcServer,
  sdcServer,
  sdcUrl,
  variable,
} from '../../support/sdc-server.ts'

let it: SdcServer
const url = (id: string): string => `http://forms.example/${id}`
const form = (id: string, more: Json): Json => ({
  ...{ resourceType: 'Questionnaire', id, url: url(id), version: '1', status: 'active' },
  ...more,
})
const module = (linkId: string, id: string): Json => ({
  ...{ linkId, type: 'display', text: 'not there' },
  extension: [{ url: sdcUrl('subQuestionnaire'), valueCanonical: url(id) }],
})
const needs = (name: string): Json => ({ url: sdcUrl('assembleContext'), valueString: name })
const prefix = (expression: string): Json => variable(fhirPath(expression, 'linkIdPrefix'))
const canonical = (id: string): Json => ({
  resourceType: 'Parameters',
  parameter: [{ name: 'canonical', valueCanonical: url(id) }],
})

test.before(async () => {
  it = await sdcServer()
  await it.put(
    form('name', {
      extension: [needs('linkIdPrefix'), needs('person'), variable(fhirPath('%person.name.first()', 'name'))],
      item: [
        { linkId: '1', type: 'string' },
        { linkId: '2', type: 'string', enableWhen: [{ question: '1', operator: 'exists', answerBoolean: true }] },
      ],
    }),
  )
  await it.put(
    form('contact', {
      extension: [needs('linkIdPrefix'), needs('person'), launchContext('user', 'Practitioner')],
      contained: [{ resourceType: 'ValueSet', id: 'vs', status: 'active' }],
      item: [
        { linkId: 'n', type: 'group', extension: [prefix("%linkIdPrefix + 'name.'")], item: [module('x', 'name')] },
        { linkId: 'kind', type: 'choice', answerValueSet: '#vs' },
      ],
    }),
  )
  await it.put(
    form('root', {
      extension: [
        { url: sdcUrl('assemble-expectation'), valueCode: 'assemble-root' },
        launchContext('patient', 'Patient'),
        variable(fhirPath('%patient', 'person')),
      ],
      item: [
        { linkId: 'a', type: 'group', extension: [prefix("'self.'")], item: [module('b', 'name')] },
        { linkId: 'c', type: 'group', extension: [prefix("'contact.'")], item: [module('d', 'contact')] },
        { linkId: 'sex', type: 'choice', answerValueSet: 'http://hl7.org/fhir/ValueSet/administrative-gender' },
      ],
    }),
  )
})
test.after(() => it.server.stop())

test('modules are put in their places, with prefixes, variables, contexts and contained resources', async () => {
  const answered = await it.post('/Questionnaire/$assemble', canonical('root'))
  assert.is(answered.status, 200, answered.text)
  const made = answered.json
  assert.is(made.version, '1-assembled')
  const linkIds: string[] = []
  const visit = (items: readonly Json[] = []): void => {
    for (const item of items) {
      linkIds.push(item.linkId)
      visit(item.item)
    }
  }
  visit(made.item)
  assert.equal(linkIds, [
    'a',
    'self.1',
    'self.2',
    'c',
    'contact.n',
    'contact.name.1',
    'contact.name.2',
    'contact.kind',
    'sex',
  ])
  assert.is(made.item[0].item[1].enableWhen[0].question, 'self.1')
  assert.match(JSON.stringify(made.item[0].extension), '%person.name.first()')
  const extensions = made.extension.map(
    (one: Json) => one.valueCanonical ?? one.valueExpression?.name ?? one.extension?.[0].valueCoding?.code,
  )
  assert.equal(extensions, ['patient', 'person', `${url('name')}|1`, `${url('contact')}|1`, 'user'])
  assert.is(made.contained[0].id, 'vs')
  const stored = await it.post('/Questionnaire', made)
  assert.is(stored.status, 201, stored.text)
  assert.equal((await it.get('/Questionnaire/root/$assemble')).json, made)
})

test('what cannot be assembled is refused', async () => {
  await it.put(form('circle', { item: [module('1', 'circle')] }))
  await it.put(form('lost', { item: [module('1', 'none')] }))
  await it.put(form('contextless', { item: [module('1', 'name')] }))
  await it.put(form('plain', { item: [{ linkId: '1', type: 'string' }] }))
  await it.put(form('twice', { item: [module('x', 'plain'), module('y', 'plain')] }))
  for (const [id, says] of [
    ['circle', 'contains itself'],
    ['lost', 'no Questionnaire'],
    ['contextless', 'needs the variable'],
    ['twice', 'is there twice'],
  ] as const) {
    const answered = await it.post('/Questionnaire/$assemble', canonical(id))
    assert.is(answered.status, 422, answered.text)
    assert.match(answered.text, says)
  }
})

test('an adaptive form gets its questions one by one, as the answers enable them', async () => {
  const asks = (question: string): Json => ({ enableWhen: [{ question, operator: '=', answerBoolean: true }] })
  await it.put(
    form('adaptive', {
      item: [
        { linkId: 'intro', type: 'display', text: 'Hello' },
        { linkId: 'smokes', type: 'boolean', required: true },
        { linkId: 'g', type: 'group', ...asks('smokes'), item: [{ linkId: 'packs', type: 'integer' }] },
        { linkId: 'last', type: 'string' },
        { linkId: 'thanks', type: 'display', text: 'Thank you' },
      ],
    }),
  )
  const contained = { resourceType: 'Questionnaire', id: 'q', status: 'active', derivedFrom: [url('adaptive')] }
  const first: Json = {
    resourceType: 'QuestionnaireResponse',
    contained: [contained],
    questionnaire: '#q',
    status: 'in-progress',
  }
  const next = async (response: Json): Promise<Json> => {
    const answered = await it.post('/Questionnaire/$next-question', response)
    assert.is(answered.status, 200, answered.text)
    return answered.json
  }
  const linkIds = (response: Json): string[] => response.contained[0].item.map(({ linkId }: Json) => linkId)
  const one = await next(first)
  assert.equal(linkIds(one), ['intro', 'smokes'])
  const refused = await it.post('/Questionnaire/$next-question', one)
  assert.is(refused.status, 422, refused.text)
  assert.match(refused.text, 'smokes')
  const smokes = (valueBoolean: boolean): Json => ({ linkId: 'smokes', answer: [{ valueBoolean }] })
  const yes = await next({ ...one, item: [smokes(true)] })
  assert.equal(linkIds(yes), ['intro', 'smokes', 'g'])
  assert.equal(yes.contained[0].item[2].item, [{ linkId: 'packs', type: 'integer' }])
  const no = await next({ ...one, item: [smokes(false)] })
  assert.equal(linkIds(no), ['intro', 'smokes', 'last'])
  const end = await next({ ...no, item: [smokes(false), { linkId: 'last', answer: [{ valueString: 'x' }] }] })
  assert.is(end.status, 'completed')
  assert.equal(linkIds(end), ['intro', 'smokes', 'last', 'thanks'])
  assert.is((await it.post('/Questionnaire/$next-question', end)).status, 422)
  assert.is((await it.post('/Questionnaire/$next-question', { ...first, contained: undefined })).status, 422)
})

test('a package has the Questionnaire with all that it needs', async () => {
  const answered = await it.get('/Questionnaire/root/$questionnaire-package')
  assert.is(answered.status, 200, answered.text)
  const bundle = named(answered.json, 'PackageBundle')?.resource
  const all = bundle.entry.map(({ resource }: Json) => `${resource.resourceType} ${resource.url}`)
  assert.equal(all, [
    `Questionnaire ${url('root')}`,
    `Questionnaire ${url('name')}`,
    `Questionnaire ${url('contact')}`,
    'ValueSet http://hl7.org/fhir/ValueSet/administrative-gender',
  ])
  const lost = (await it.get('/Questionnaire/lost/$questionnaire-package')).json
  assert.match(JSON.stringify(named(lost, 'Outcome')), url('none'))
})

test('without the package of SDC the operations are not there, and responses are checked', async () => {
  const bare = await sdcServer({ definitions: formDefinitions })
  await bare.put(form('bare', { item: [{ linkId: '1', type: 'string', required: true }] }))
  const { rest } = (await bare.get('/metadata')).json
  const { operation } = rest[0].resource.find(({ type }: Json) => type === 'Questionnaire')
  assert.equal(
    operation.filter(({ definition }: Json) => /sdc|dtr/.test(definition)),
    [],
  )
  const refused = await bare.post('/Questionnaire/$populate', canonical('bare'))
  assert.is(refused.status, 404, refused.text)
  assert.match(refused.text, 'hl7.fhir.uv.sdc')
  const response = { resourceType: 'QuestionnaireResponse', status: 'completed', questionnaire: url('bare') }
  assert.is((await bare.post('/QuestionnaireResponse', response)).status, 422)
  await bare.server.stop()
})

test('/metadata lists all operations with the package', async () => {
  const { rest } = (await it.get('/metadata')).json
  const names = (type: string): string[] =>
    rest[0].resource.find((one: Json) => one.type === type).operation.map(({ name }: Json) => name)
  for (const name of ['populate', 'assemble', 'next-question', 'questionnaire-package'])
    assert.ok(names('Questionnaire').includes(name), name)
  assert.ok(names('QuestionnaireResponse').includes('extract'))
})

test.run()
