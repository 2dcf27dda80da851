/** Invariants and required bindings of R4: one broken in each resource, and the examples, which break none. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { loadInterpreter } from '../../../plugins/model/fhirpath/invariant/interpreter.ts'
import { createRules } from '../../../plugins/validation/rules/rules.ts'
import { createValueSets } from '../../../plugins/validation/rules/value-set.ts'
import { createStructureValidator } from '../../../plugins/validation/structure/validator.ts'
import { atLeast, r4Canonical, r4Definitions, r4Files, r4Part, r4Text } from './r4.ts'

const engine = await loadInterpreter()
let isEngineAsked = false
const codes = createValueSets((type, canonical) => {
  const text = r4Canonical(type, canonical.replace(/\|.*$/, ''))
  return text === undefined ? undefined : JSON.parse(text)
})
const validator = createStructureValidator(
  r4Definitions(),
  createRules({
    codes,
    engine: () => {
      isEngineAsked = true
      return engine
    },
  }),
)

const patient = (more: object) => ({ resourceType: 'Patient', ...more })
const observation = (more: object) => ({ resourceType: 'Observation', status: 'final', code: { text: 'x' }, ...more })
const coded = (system: string, code: string) => ({
  coding: [{ system: `http://terminology.hl7.org/CodeSystem/${system}`, code }],
})
const condition = (more: object) => ({ resourceType: 'Condition', subject: { display: 'x' }, ...more })
const allergy = (more: object) => ({ resourceType: 'AllergyIntolerance', patient: { display: 'x' }, ...more })
const bundle = (type: string, entry: object[], more: object = {}) => ({ resourceType: 'Bundle', type, entry, ...more })
const questionnaire = (...item: object[]) => ({ resourceType: 'Questionnaire', status: 'draft', item })
const timing = (repeat: object) => ({
  resourceType: 'ServiceRequest',
  ...{
    status: 'active',
    intent: 'order',
    subject: { display: 'x' },
    code: { text: 'x' },
    occurrenceTiming: { repeat },
  },
})
const quantity = (more: object) => observation({ valueQuantity: more })
const age = (more: object) =>
  condition({ onsetAge: { system: 'http://unitsofmeasure.org', code: 'a', value: 3, ...more } })
const range = (low: object, high: object) => observation({ valueRange: { low, high } })
const active = coded('condition-clinical', 'active')

type Row = readonly [rule: string, broken: object, expression: string, sound: object]

const invariants: readonly Row[] = [
  [
    'pat-1',
    patient({ contact: [{ gender: 'male' }] }),
    'Patient.contact[0]',
    patient({ contact: [{ gender: 'male', name: { text: 'x' } }] }),
  ],
  [
    'per-1',
    patient({ name: [{ text: 'x', period: { start: '2021', end: '2020' } }] }),
    'Patient.name[0].period',
    patient({ name: [{ text: 'x', period: { start: '2020', end: '2020-01' } }] }),
  ],
  ['cpt-2', patient({ telecom: [{ value: '1' }] }), 'Patient.telecom[0]', patient({ telecom: [{ use: 'home' }] })],
  ['att-1', patient({ photo: [{ data: 'AAAA' }] }), 'Patient.photo[0]', patient({ photo: [{ url: 'http://x' }] })],
  ['qty-3', quantity({ value: 1, code: 'kg' }), 'Observation.value', quantity({ value: 1, unit: 'kg' })],
  [
    'obs-6',
    observation({ valueString: 'x', dataAbsentReason: { text: 'x' } }),
    'Observation',
    observation({ dataAbsentReason: { text: 'x' } }),
  ],
  [
    'obs-7',
    observation({ code: coded('a', 'b'), valueString: 'x', component: [{ code: coded('a', 'b') }] }),
    'Observation',
    observation({ code: coded('a', 'b'), valueString: 'x', component: [{ code: coded('a', 'c') }] }),
  ],
  [
    'obs-3',
    observation({ referenceRange: [{ type: { text: 'x' } }] }),
    'Observation.referenceRange[0]',
    observation({ referenceRange: [{ text: 'x' }] }),
  ],
  [
    'obs-3',
    observation({ component: [{ code: { text: 'x' }, referenceRange: [{ type: { text: 'x' } }] }] }),
    'Observation.component[0].referenceRange[0]',
    observation({ component: [{ code: { text: 'x' }, referenceRange: [{ text: 'x' }] }] }),
  ],
  ['rng-2', range({ value: 2 }, { value: 1 }), 'Observation.value', range({ value: 1 }, { value: 1 })],
  [
    'rat-1',
    observation({ valueRatio: { numerator: { value: 1 } } }),
    'Observation.value',
    observation({ valueRatio: { numerator: { value: 1 }, denominator: { value: 2 } } }),
  ],
  ['age-1', age({ value: -1 }), 'Condition.onset', age({})],
  [
    'con-4',
    condition({ clinicalStatus: active, abatementString: 'x' }),
    'Condition',
    condition({ clinicalStatus: coded('condition-clinical', 'resolved'), abatementString: 'x' }),
  ],
  [
    'con-5',
    condition({ clinicalStatus: active, verificationStatus: coded('condition-ver-status', 'entered-in-error') }),
    'Condition',
    condition({ clinicalStatus: active, verificationStatus: coded('condition-ver-status', 'confirmed') }),
  ],
  [
    'ait-1',
    allergy({}),
    'AllergyIntolerance',
    allergy({ clinicalStatus: coded('allergyintolerance-clinical', 'active') }),
  ],
  [
    'ait-2',
    allergy({
      clinicalStatus: coded('allergyintolerance-clinical', 'active'),
      verificationStatus: coded('allergyintolerance-verification', 'entered-in-error'),
    }),
    'AllergyIntolerance',
    allergy({ verificationStatus: coded('allergyintolerance-verification', 'entered-in-error') }),
  ],
  [
    'org-1',
    { resourceType: 'Organization', active: true },
    'Organization',
    { resourceType: 'Organization', name: 'x' },
  ],
  [
    'org-2',
    {
      resourceType: 'Organization',
      name: 'x',
      address: [
        { use: 'work', text: 'x' },
        { use: 'home', text: 'x' },
      ],
    },
    'Organization.address[1]',
    { resourceType: 'Organization', name: 'x', address: [{ use: 'work', text: 'x' }] },
  ],
  [
    'org-3',
    { resourceType: 'Organization', name: 'x', telecom: [{ use: 'home', system: 'phone', value: '1' }] },
    'Organization.telecom[0]',
    { resourceType: 'Organization', name: 'x', telecom: [{ use: 'work', system: 'phone', value: '1' }] },
  ],
  [
    'bdl-1',
    bundle('collection', [{ resource: patient({}) }], { total: 1 }),
    'Bundle',
    bundle('searchset', [{ resource: patient({}) }], { total: 1 }),
  ],
  [
    'bdl-3',
    bundle('transaction', [{ resource: patient({}) }]),
    'Bundle',
    bundle('transaction', [{ resource: patient({}), request: { method: 'POST', url: 'Patient' } }]),
  ],
  [
    'bdl-5',
    bundle('collection', [{ fullUrl: 'http://x/y' }]),
    'Bundle.entry[0]',
    bundle('collection', [{ fullUrl: 'http://x/y', resource: patient({}) }]),
  ],
  [
    'bdl-7',
    bundle('collection', [
      { fullUrl: 'http://x/Patient/1', resource: patient({}) },
      { fullUrl: 'http://x/Patient/1', resource: patient({}) },
    ]),
    'Bundle',
    bundle('collection', [
      { fullUrl: 'http://x/Patient/1', resource: patient({}) },
      { fullUrl: 'http://x/Patient/2', resource: patient({}) },
    ]),
  ],
  [
    'bdl-8',
    bundle('collection', [{ fullUrl: 'http://x/Patient/1/_history/2', resource: patient({}) }]),
    'Bundle.entry[0]',
    bundle('collection', [{ fullUrl: 'http://x/Patient/1', resource: patient({}) }]),
  ],
  [
    'bdl-11',
    bundle('document', [{ resource: patient({}) }], {
      identifier: { system: 'http://x', value: '1' },
      timestamp: '2020-01-01T00:00:00Z',
    }),
    'Bundle',
    bundle('collection', [{ resource: patient({}) }], {
      identifier: { system: 'http://x', value: '1' },
      timestamp: '2020-01-01T00:00:00Z',
    }),
  ],
  [
    'que-1',
    questionnaire({ linkId: '1', type: 'group' }),
    'Questionnaire.item[0]',
    questionnaire({ linkId: '1', type: 'group', item: [{ linkId: '2', type: 'string' }] }),
  ],
  [
    'que-2',
    questionnaire({ linkId: '1', type: 'string', item: [{ linkId: '1', type: 'string' }] }),
    'Questionnaire',
    questionnaire({ linkId: '1', type: 'string', item: [{ linkId: '2', type: 'string' }] }),
  ],
  [
    'que-3',
    questionnaire({ linkId: '1', type: 'display', code: [{ code: 'x' }] }),
    'Questionnaire.item[0]',
    questionnaire({ linkId: '1', type: 'string', code: [{ code: 'x' }] }),
  ],
  [
    'que-10',
    questionnaire({ linkId: '1', type: 'date', maxLength: 3 }),
    'Questionnaire.item[0]',
    questionnaire({ linkId: '1', type: 'string', maxLength: 3 }),
  ],
  [
    'que-7',
    questionnaire(
      { linkId: '1', type: 'string', enableWhen: [{ question: '2', operator: 'exists', answerString: 'x' }] },
      { linkId: '2', type: 'string' },
    ),
    'Questionnaire.item[0].enableWhen[0]',
    questionnaire(
      { linkId: '1', type: 'string', enableWhen: [{ question: '2', operator: 'exists', answerBoolean: true }] },
      { linkId: '2', type: 'string' },
    ),
  ],
  ['tim-1', timing({ duration: 1 }), 'ServiceRequest.occurrence.repeat', timing({ duration: 1, durationUnit: 'h' })],
  [
    'tim-4',
    timing({ duration: -1, durationUnit: 'h' }),
    'ServiceRequest.occurrence.repeat',
    timing({ duration: 0, durationUnit: 'h' }),
  ],
  [
    'tim-9',
    timing({ offset: 1, when: ['C'] }),
    'ServiceRequest.occurrence.repeat',
    timing({ offset: 1, when: ['AC'] }),
  ],
  [
    'sdf-4',
    JSON.parse(r4Text('StructureDefinition-FiveWs.json')),
    'StructureDefinition',
    JSON.parse(r4Text('StructureDefinition-Patient.json')),
  ],
  [
    'vsd-1',
    { resourceType: 'ValueSet', status: 'draft', compose: { include: [{ version: '1' }] } },
    'ValueSet.compose.include[0]',
    { resourceType: 'ValueSet', status: 'draft', compose: { include: [{ system: 'http://x' }] } },
  ],
  [
    'vsd-1',
    {
      resourceType: 'ValueSet',
      status: 'draft',
      compose: { include: [{ system: 'http://x' }], exclude: [{ version: '1' }] },
    },
    'ValueSet.compose.exclude[0]',
    {
      resourceType: 'ValueSet',
      status: 'draft',
      compose: { include: [{ system: 'http://x' }], exclude: [{ system: 'http://x' }] },
    },
  ],
  [
    'csd-1',
    {
      resourceType: 'CodeSystem',
      status: 'draft',
      content: 'complete',
      concept: [{ code: 'a' }, { code: 'b', concept: [{ code: 'a' }] }],
    },
    'CodeSystem',
    {
      resourceType: 'CodeSystem',
      status: 'draft',
      content: 'complete',
      concept: [{ code: 'a' }, { code: 'b', concept: [{ code: 'c' }] }],
    },
  ],
  [
    'inv-1',
    { resourceType: 'Parameters', parameter: [{ name: 'x' }] },
    'Parameters.parameter[0]',
    { resourceType: 'Parameters', parameter: [{ name: 'x', valueCode: 'y' }] },
  ],
  [
    'inv-1',
    { resourceType: 'Parameters', parameter: [{ name: 'x', part: [{ name: 'y' }] }] },
    'Parameters.parameter[0].part[0]',
    { resourceType: 'Parameters', parameter: [{ name: 'x', part: [{ name: 'y', valueCode: 'z' }] }] },
  ],
  [
    'mdd-1',
    {
      resourceType: 'MedicationDispense',
      status: 'completed',
      medicationReference: { display: 'x' },
      whenPrepared: '2020-01-02T00:00:00Z',
      whenHandedOver: '2020-01-02T00:30:00+01:00',
    },
    'MedicationDispense',
    {
      resourceType: 'MedicationDispense',
      status: 'completed',
      medicationReference: { display: 'x' },
      whenPrepared: '2020-01-02T00:00:00Z',
      whenHandedOver: '2020-01-02T01:30:00+01:00',
    },
  ],
  [
    'per-1',
    contained({ start: '2021', end: '2020' }),
    'Patient.contained[0].identifier[0].period',
    contained({ start: '2020', end: '2021' }),
  ],
]

function contained(period: object): object {
  const organization = { resourceType: 'Organization', id: 'o', name: 'x', identifier: [{ value: '1', period }] }
  return patient({ contained: [organization], managingOrganization: { reference: '#o' } })
}

const bindings: readonly (readonly [broken: object, expression: string, sound: object])[] = [
  [patient({ gender: 'man' }), 'Patient.gender', patient({ gender: 'male' })],
  [patient({ gender: 'Male' }), 'Patient.gender', patient({ gender: 'unknown' })],
  [patient({ name: [{ use: 'x', text: 'x' }] }), 'Patient.name[0].use', patient({ name: [{ use: 'old', text: 'x' }] })],
  [{ ...observation({}), status: 'done' }, 'Observation.status', { ...observation({}), status: 'amended' }],
  [
    patient({ text: { status: 'x', div: '<div xmlns="http://www.w3.org/1999/xhtml">x</div>' } }),
    'Patient.text.status',
    patient({ text: { status: 'additional', div: '<div xmlns="http://www.w3.org/1999/xhtml">x</div>' } }),
  ],
  [
    condition({ clinicalStatus: coded('condition-clinical', 'x') }),
    'Condition.clinicalStatus',
    condition({ clinicalStatus: active }),
  ],
  [
    condition({ clinicalStatus: coded('x', 'active') }),
    'Condition.clinicalStatus',
    condition({ clinicalStatus: { coding: [{ code: 'x' }, ...active.coding] } }),
  ],
  [
    condition({ clinicalStatus: { text: 'active' } }),
    'Condition.clinicalStatus',
    condition({ clinicalStatus: active }),
  ],
  [
    questionnaire({ linkId: '1', type: 'x' }),
    'Questionnaire.item[0].type',
    questionnaire({ linkId: '1', type: 'url' }),
  ],
  [timing({ when: ['AC', 'x'], frequency: 1 }), 'ServiceRequest.occurrence.repeat.when[1]', timing({ when: ['AC'] })],
  [
    { resourceType: 'Questionnaire', status: 'draft', subjectType: ['Patient', 'Foo'] },
    'Questionnaire.subjectType[1]',
    { resourceType: 'Questionnaire', status: 'draft', subjectType: ['Patient'] },
  ],
]

const told = (resource: object) =>
  validator
    .validate(resource as Record<string, unknown>, { limit: 1000 })
    .filter(({ severity }) => severity === 'error')
    .map(({ code, expression, diagnostics }) => ({ code, expression, diagnostics }))

for (const [rule, broken, expression, sound] of invariants) {
  test(`${rule} is found broken at ${expression}, and whole where it is`, () => {
    const issues = told(broken)
    assert.equal(
      issues.map(({ code, expression: where }) => `${code} ${where}`),
      [`invariant ${expression}`],
      JSON.stringify(issues),
    )
    assert.match(issues[0]!.diagnostics, `${expression}: ${rule}: `)
    assert.equal(told(sound), [])
  })
}

for (const [broken, expression, sound] of bindings) {
  test(`a code outside of the required value set is found at ${expression}`, () => {
    const issues = told(broken)
    assert.equal(
      issues.map(({ code, expression: where }) => `${code} ${where}`),
      [`code-invalid ${expression}`],
    )
    assert.match(issues[0]!.diagnostics, /is not in the value set http:/)
    assert.equal(told(sound), [])
  })
}

test('a code of a value set that cannot be enumerated is accepted', () => {
  assert.equal(told(patient({ photo: [{ contentType: 'no/such-type', url: 'http://x' }] })), [])
})

test('a warning is told and is no error', () => {
  const issues = validator.validate({ resourceType: 'ValueSet', status: 'draft', name: '1 a' })
  assert.equal(
    issues.map(({ severity, code }) => `${severity} ${code}`),
    ['warning invariant'],
  )
  assert.match(issues[0]!.diagnostics, 'vsd-0')
})

test('everyday resources are checked without fhirpath.js', () => {
  isEngineAsked = false
  for (const file of r4Files()) {
    if (
      /^(Patient|Observation|Condition|Encounter|Claim|MedicationRequest|Bundle-father|Questionnaire|ValueSet-a)/.test(
        file,
      )
    ) {
      validator.validate(JSON.parse(r4Text(file)))
    }
  }
  assert.not(isEngineAsked)
})

test('expressions that could make fhirpath.js fetch something are not evaluated', () => {
  const reference = 'http://169.254.169.254/Practitioner/1'
  const team = { resourceType: 'CareTeam', participant: [{ member: { reference }, onBehalfOf: { display: 'x' } }] }
  const { fetch } = globalThis
  let isFetched = false
  globalThis.fetch = (async () => {
    isFetched = true
    throw new Error('no network')
  }) as typeof fetch
  try {
    assert.equal(told(team), [])
  } finally {
    globalThis.fetch = fetch
  }
  assert.not(isFetched)
})

test('what a client sent is never printed: the lines of the log go the same way', () => {
  const ucum = (value: number, code: string) => ({ value, system: 'http://unitsofmeasure.org', code })
  const printed: unknown[] = []
  const { log } = console
  console.log = (...words) => void printed.push(...words)
  try {
    for (const code of ['a__proto__', 'aconstructor', '__proto__', 'toString'])
      validator.validate(range(ucum(1, code), ucum(2, 'mg')))
  } finally {
    console.log = log
  }
  assert.equal(printed, [])
})

test('a resource whose repetitions make its rules costly is refused in time', () => {
  const coding = Array.from({ length: 20_000 }, (_, at) => ({ system: 'http://x', code: `c${at}` }))
  const components = Array.from({ length: 20_000 }, () => ({ code: { coding: [{ code: 'x' }] } }))
  const from = process.cpuUsage()
  const issues = told(observation({ code: { coding }, valueString: 'x', component: components }))
  const used = process.cpuUsage(from)
  assert.equal(
    issues.map(({ code }) => code),
    ['too-costly'],
  )
  assert.ok(used.user + used.system < 3_000_000, `${used.user} µs`)
  assert.equal(told(observation({ code: coded('a', 'b'), valueString: 'x', component: components.slice(0, 5000) })), [])
})

test('conditions that only fhirpath.js can judge are bounded too', () => {
  const goals = Array.from({ length: 20_000 }, (_, at) => ({
    valueRange: {
      low: { value: 1, unit: `a${at}`, code: 'mm', system: 'http://unitsofmeasure.org' },
      high: { value: 2, code: 'm', system: 'http://unitsofmeasure.org' },
    },
    code: { text: 'x' },
  }))
  const issues = told(observation({ component: goals }))
  assert.equal(
    issues.map(({ code }) => code),
    ['too-costly'],
  )
  assert.equal(told(observation({ component: goals.slice(0, 100) })), [])
})

/** Logical models of R4 without a base, which sdf-4 asks of what is not abstract. */
const AT_FAULT = ['Definition', 'Event', 'FiveWs', 'Request'].map((name) => `StructureDefinition-${name}.json`)

test('no example of R4 breaks a rule but four', () => {
  let checked = 0
  for (const file of new Set([...r4Part(), ...AT_FAULT])) {
    const text = r4Text(file)
    if (text.length > 150_000) continue
    const issues = told(JSON.parse(text)).filter(
      ({ code, diagnostics }) => code === 'code-invalid' || / [a-z]+-\d+[a-z]?: /.test(diagnostics),
    )
    const broken = issues.filter(({ diagnostics }) => !diagnostics.includes('txt-2'))
    const rules = broken.map(({ diagnostics }) => diagnostics.split(': ')[1])
    assert.equal(rules, AT_FAULT.includes(file) ? ['sdf-4'] : [], `${file}: ${broken[0]?.diagnostics}`)
    checked++
  }
  assert.ok(checked > atLeast(650, 5_100), String(checked))
})

test.run()
