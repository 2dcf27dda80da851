/** QuestionnaireResponses are checked against their Questionnaire, on $validate and on write. */
// database: sqlite, because responses are checked before they are stored
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { fhirPath, type Json, type SdcServer, sdcServer, sdcUrl, variable } from '../../support/sdc-server.ts'

let it: SdcServer
const CORE = 'http://hl7.org/fhir/StructureDefinition/'
const GENDERS = 'http://hl7.org/fhir/ValueSet/administrative-gender'
const coding = (code: string, system = 'http://codes'): Json => ({ valueCoding: { system, code } })
const constraint = (expression: string, severity: string): Json => ({
  url: `${CORE}targetConstraint`,
  extension: [
    { url: 'key', valueId: `c-${severity}` },
    { url: 'severity', valueCode: severity },
    { url: 'human', valueString: `must be so (${severity})` },
    { url: 'expression', valueExpression: fhirPath(expression) },
  ],
})
const extension = (url: string, value: Json): Json => ({ url: `${CORE}${url}`, ...value })

const FORM: Json = {
  resourceType: 'Questionnaire',
  ...{ id: 'form', url: 'http://forms.example/form', version: '1.0', status: 'active' },
  item: [
    {
      ...{ linkId: 'g', type: 'group', required: true },
      item: [
        { linkId: 'smokes', type: 'boolean', required: true },
        {
          ...{ linkId: 'packs', type: 'integer', required: true },
          enableWhen: [{ question: 'smokes', operator: '=', answerBoolean: true }],
          extension: [extension('minValue', { valueInteger: 1 }), extension('maxValue', { valueInteger: 9 })],
        },
        { linkId: 'colour', type: 'choice', answerOption: [coding('red'), coding('blue')] },
        { linkId: 'sex', type: 'choice', answerValueSet: GENDERS },
        { linkId: 'other', type: 'open-choice', answerOption: [coding('red')] },
        {
          linkId: 'name',
          type: 'string',
          maxLength: 5,
          repeats: true,
          extension: [extension('questionnaire-maxOccurs', { valueInteger: 2 })],
        },
        { linkId: 'born', type: 'date', extension: [extension('minValue', { valueDate: '1900-01-01' })] },
      ],
    },
    {
      ...{ linkId: 'rows', type: 'group', repeats: true },
      item: [
        { linkId: 'row', type: 'integer' },
        {
          ...{ linkId: 'why', type: 'string', enableBehavior: 'all' },
          enableWhen: [
            { question: 'row', operator: '>', answerInteger: 5 },
            { question: 'smokes', operator: 'exists', answerBoolean: true },
          ],
        },
      ],
    },
    { linkId: 'q', type: 'string', item: [{ linkId: 'below', type: 'boolean' }] },
    { linkId: 'note', type: 'display', text: 'x' },
  ],
}

const answered = (linkId: string, ...answer: readonly Json[]): Json => ({ linkId, answer })
const group = (linkId: string, ...item: readonly Json[]): Json => ({ linkId, item })
const response = (item: readonly Json[], more: Json = {}): Json => ({
  resourceType: 'QuestionnaireResponse',
  ...{ questionnaire: 'http://forms.example/form', status: 'completed' },
  ...(item.length === 0 ? {} : { item }),
  ...more,
})

test.before(async () => {
  it = await sdcServer()
  await it.put(FORM)
})
test.after(() => it.server.stop())

interface Found {
  readonly severity: string
  readonly diagnostics: string
  readonly expression: readonly string[]
}

/** What $validate says besides the narrative hint. */
const issuesOf = async (body: Json): Promise<readonly Found[]> => {
  const { status, json, text } = await it.post('/QuestionnaireResponse/$validate', body)
  assert.is(status, 200, text)
  return json.issue.filter(({ diagnostics }: Found) => !/narrative|No issues/.test(diagnostics))
}
const brief = (found: readonly Found[]): readonly string[] =>
  found.map(({ severity, expression, diagnostics }) => `${severity} ${expression?.[0]}: ${diagnostics}`)

const no = answered('smokes', { valueBoolean: false })
const yes = answered('smokes', { valueBoolean: true })
const ROOT = 'QuestionnaireResponse'

test('a response that fits has no issues', async () => {
  const fits = response([
    group(
      'g',
      yes,
      answered('packs', { valueInteger: 2 }),
      answered('colour', coding('blue')),
      answered('sex', coding('male', 'http://hl7.org/fhir/administrative-gender')),
      answered('other', { valueString: 'green' }),
      answered('name', { valueString: 'Jim' }, { valueString: 'James' }),
      answered('born', { valueDate: '1974-12-25' }),
    ),
    group('rows', answered('row', { valueInteger: 6 }), answered('why', { valueString: 'x' })),
    group('rows', answered('row', { valueInteger: 5 })),
    answered('q', { valueString: 'x', item: [answered('below', { valueBoolean: true })] }),
  ])
  assert.equal(brief(await issuesOf(fits)), [])
  const stored = await it.post('/QuestionnaireResponse', fits)
  assert.is(stored.status, 201, stored.text)
})

const CASES: readonly (readonly [name: string, item: readonly Json[], says: string, at: string])[] = [
  [
    'an unknown linkId',
    [group('g', no), answered('nothing', { valueString: 'x' })],
    'is no item of the Questionnaire',
    'item[1]',
  ],
  [
    'an item at another place',
    [group('g', no), answered('smokes', { valueBoolean: true })],
    'stands at another place',
    'item[1]',
  ],
  [
    'another order',
    [group('g', no), answered('q', { valueString: 'x' }), group('rows', answered('row', { valueInteger: 1 }))],
    'the order has to be the same',
    'item[2]',
  ],
  ['a missing group', [], '"g" is required', ''],
  ['a missing answer', [group('g', answered('colour', coding('red')))], '"smokes" is required', 'item[0]'],
  ['a missing answer that others enable', [group('g', yes)], '"packs" is required', 'item[0]'],
  [
    'an answer that is not enabled',
    [group('g', no, answered('packs', { valueInteger: 2 }))],
    'is not enabled',
    'item[0].item[1]',
  ],
  [
    'an answer that is not enabled in its row',
    [
      group('g', no),
      group('rows', answered('row', { valueInteger: 6 })),
      group('rows', answered('row', { valueInteger: 1 }), answered('why', { valueString: 'x' })),
    ],
    'is not enabled',
    'item[2].item[1]',
  ],
  [
    'another type',
    [group('g', answered('smokes', { valueString: 'no' }))],
    'takes valueBoolean',
    'item[0].item[0].answer[0]',
  ],
  [
    'too small a value',
    [group('g', yes, answered('packs', { valueInteger: 0 }))],
    'at least 1',
    'item[0].item[1].answer[0]',
  ],
  [
    'too great a value',
    [group('g', yes, answered('packs', { valueInteger: 10 }))],
    'at most 9',
    'item[0].item[1].answer[0]',
  ],
  [
    'too early a date',
    [group('g', no, answered('born', { valueDate: '1899' }))],
    'at least 1900-01-01',
    'item[0].item[1].answer[0]',
  ],
  [
    'no option',
    [group('g', no, answered('colour', coding('green')))],
    'none of the options',
    'item[0].item[1].answer[0]',
  ],
  [
    'a text for a choice',
    [group('g', no, answered('colour', { valueString: 'red' }))],
    'takes valueCoding',
    'item[0].item[1].answer[0]',
  ],
  [
    'a code outside of the value set',
    [group('g', no, answered('sex', coding('x', 'http://hl7.org/fhir/administrative-gender')))],
    'not in the value set',
    'item[0].item[1].answer[0]',
  ],
  [
    'too long a text',
    [group('g', no, answered('name', { valueString: 'Maximilian' }))],
    'at most 5',
    'item[0].item[1].answer[0]',
  ],
  [
    'too many answers',
    [group('g', no, answered('name', { valueString: 'a' }, { valueString: 'b' }, { valueString: 'c' }))],
    'at most 2',
    'item[0].item[1]',
  ],
  [
    'two answers to what does not repeat',
    [group('g', answered('smokes', { valueBoolean: false }, { valueBoolean: false }))],
    'at most 1',
    'item[0].item[0]',
  ],
  ['a group twice', [group('g', no), group('g', no)], 'at most 1', 'item[1]'],
  [
    'an answer of a group',
    [group('g', no), { linkId: 'rows', answer: [{ valueString: 'x' }] }],
    'of type group',
    'item[1]',
  ],
  ['an answer of a display', [group('g', no), answered('note', { valueString: 'x' })], 'of type display', 'item[1]'],
]

for (const [name, item, says, at] of CASES)
  test(`${name} is an error`, async () => {
    const found = await issuesOf(response(item))
    const path = at === '' ? ROOT : `${ROOT}.${at}`
    const errors = found.filter(({ severity }) => severity === 'error')
    assert.is(errors.length, 1, brief(found).join('\n'))
    assert.match(brief(errors)[0] as string, says)
    assert.equal(errors[0]?.expression, [path])
    const written = await it.post('/QuestionnaireResponse', response(item))
    assert.is(written.status, 422, written.text)
  })

test('in progress nothing is required, and the rest is checked', async () => {
  const draft = { status: 'in-progress' }
  assert.equal(brief(await issuesOf(response([group('g', yes)], draft))), [])
  const wrong = await issuesOf(response([group('g', answered('smokes', { valueString: 'x' }))], draft))
  assert.is(wrong[0]?.severity, 'error')
})

test('without the Questionnaire there is a warning only', async () => {
  const found = await issuesOf(response([], { questionnaire: 'http://forms.example/none' }))
  assert.match(brief(found).join(), /^warning QuestionnaireResponse.questionnaire: .*not here/)
  const written = await it.post('/QuestionnaireResponse', response([], { questionnaire: 'http://forms.example/none' }))
  assert.is(written.status, 201, written.text)
})

test('expressions enable items and constrain answers', async () => {
  const enabled = {
    url: sdcUrl('enableWhenExpression'),
    valueExpression: fhirPath("%resource.item.where(linkId='a').answer.value > %limit"),
  }
  await it.put({
    ...{ resourceType: 'Questionnaire', id: 'expressions', url: 'http://forms.example/expressions', status: 'active' },
    extension: [variable(fhirPath('3', 'limit')), constraint("item.where(linkId='a').answer.value != 7", 'error')],
    item: [
      { linkId: 'a', type: 'integer', extension: [constraint('answer.value < 100', 'warning')] },
      { linkId: 'b', type: 'string', required: true, extension: [enabled] },
    ],
  })
  const of = (a: number, ...more: readonly Json[]): Json =>
    response([answered('a', { valueInteger: a }), ...more], { questionnaire: 'http://forms.example/expressions' })
  const b = answered('b', { valueString: 'x' })
  assert.equal(brief(await issuesOf(of(3))), [])
  assert.equal(brief(await issuesOf(of(4, b))), [])
  assert.match(brief(await issuesOf(of(4))).join(), '"b" is required')
  assert.match(brief(await issuesOf(of(3, b))).join(), 'is not enabled')
  assert.match(brief(await issuesOf(of(7, b))).join(), /^error QuestionnaireResponse: c-error: must be so/)
  assert.match(brief(await issuesOf(of(100, b))).join(), /^warning QuestionnaireResponse.item\[0\]: c-warning/)
  assert.is((await it.post('/QuestionnaireResponse', of(7, b))).status, 422)
  assert.is((await it.post('/QuestionnaireResponse', of(100, b))).status, 201)
})

test('an expression without bound refuses the write, and holds nobody', async () => {
  const endless = "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!'.matches('^(a+)+$')"
  await it.put({
    ...{ resourceType: 'Questionnaire', id: 'endless', url: 'http://forms.example/endless', status: 'active' },
    extension: [constraint(endless, 'error')],
    item: [{ linkId: 'a', type: 'integer' }],
  })
  const written = await it.post(
    '/QuestionnaireResponse',
    response([], { questionnaire: 'http://forms.example/endless' }),
  )
  assert.is(written.status, 422, written.text)
  assert.match(written.text, 'too-costly')
})

test('a contained Questionnaire and its value set are used', async () => {
  const valueSet = {
    ...{ resourceType: 'ValueSet', id: 'vs', status: 'active' },
    compose: { include: [{ system: 'http://codes', concept: [{ code: 'a' }] }] },
    expansion: { timestamp: '2026-01-01T10:00:00Z', contains: [{ system: 'http://codes', code: 'A' }] },
  }
  const item = [{ linkId: '1', type: 'choice', answerValueSet: '#vs' }]
  const contained = [{ resourceType: 'Questionnaire', id: 'q', status: 'active', item }, valueSet]
  const of = (code: string): Json => response([answered('1', coding(code))], { contained, questionnaire: '#q' })
  assert.equal(brief(await issuesOf(of('a'))), [])
  assert.match(brief(await issuesOf(of('A'))).join(), 'not in the value set #vs')
})

test('entries of a Bundle are checked, and the setting says whether writes are', async () => {
  const entry = [{ resource: response([]), request: { method: 'POST', url: 'QuestionnaireResponse' } }]
  const bundle = await it.post('/', { resourceType: 'Bundle', type: 'transaction', entry })
  assert.is(bundle.status, 422, bundle.text)
  const loose = await sdcServer({ conformance: { validation: 'structure' } })
  await loose.put(FORM)
  assert.is((await loose.post('/QuestionnaireResponse', response([]))).status, 201)
  const checked = await loose.post('/QuestionnaireResponse/$validate', response([]))
  assert.match(checked.text, 'is required')
  await loose.server.stop()
})

test('a large response is checked beside other requests', async () => {
  const rows = Array.from({ length: 6_000 }, (_, row) => group('rows', answered('row', { valueInteger: row })))
  const begun = performance.now()
  const found = await issuesOf(response([group('g', no), ...rows, answered('nothing', { valueString: 'x' })]))
  assert.match(brief(found).join(), 'is no item of the Questionnaire')
  assert.ok(performance.now() - begun < 10_000)
})

test.run()
