/** Profiles made here and R4's own: everything they can ask, with and without a snapshot. https://hl7.org/fhir/R4/profiling.html */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { loadInterpreter } from '../../../plugins/model/fhirpath/invariant/interpreter.ts'
import { fieldsOf } from '../../../plugins/model/snapshot/fields.ts'
import { createProfiles } from '../../../plugins/validation/profiles/profiles.ts'
import { createValueSets } from '../../../plugins/validation/rules/value-set.ts'
import { createStructureValidator } from '../../../plugins/validation/structure/validator.ts'
import { r4Canonical, r4Definitions, r4Files, r4Text } from './r4.ts'

const engine = await loadInterpreter()
const CORE = 'http://hl7.org/fhir/StructureDefinition/'
const X = 'http://x/StructureDefinition/'

type Element = { readonly id: string; readonly [property: string]: unknown }

/** A profile without snapshot. The path of an element is its id without slice names. */
const profile = (id: string, type: string, elements: readonly Element[], base = CORE + type) => ({
  resourceType: 'StructureDefinition',
  ...{ url: X + id, name: id, type, kind: type === 'Extension' ? 'complex-type' : 'resource', abstract: false },
  ...{ derivation: 'constraint', baseDefinition: base },
  differential: { element: elements.map((element) => ({ path: element.id.replaceAll(/:[^.]+/g, ''), ...element })) },
})

const profilesOver = (definitions: readonly any[], change: (definition: any) => any = (one) => one) => {
  const known = new Map<string, any>()
  const find = (type: string, canonical: string) => {
    const key = `${type} ${canonical.replace(/\|.*$/, '')}`
    if (!known.has(key)) {
      const [, url] = key.split(' ') as [string, string]
      const own = definitions.find((one) => one.resourceType === type && one.url === url)
      const text = own === undefined ? r4Canonical(type, url) : undefined
      known.set(key, own ?? (text === undefined ? undefined : change(JSON.parse(text))))
    }
    return known.get(key)
  }
  const shapes = new Map<string, any>()
  const shape = (url: string) => {
    if (!shapes.has(url)) {
      const text = r4Canonical('StructureDefinition', url)
      shapes.set(url, text === undefined ? undefined : fieldsOf(JSON.parse(text)))
    }
    return shapes.get(url)
  }
  return createProfiles({ find, shape, codes: createValueSets(find), engine: () => engine })
}

/** What the profile says of a resource, as `severity? code expression`. */
const saysOf = (definitions: readonly any[], resource: any, profileUrls: readonly string[] = [definitions[0].url]) =>
  profilesOver(definitions)
    .check(resource, { profileUrls, profiles: true, extensions: new Set(), limit: 1000 })
    .map(({ severity, code, expression }) => `${severity === 'error' ? '' : `${severity} `}${code} ${expression}`)

const patient = (more: object) => ({ resourceType: 'Patient', ...more })
const observation = (more: object) => ({ resourceType: 'Observation', status: 'final', code: { text: 'x' }, ...more })
const code = (value: string, system = 'http://s') => ({ coding: [{ system, code: value }] })
const component = (value: string, more: object = {}) => ({ code: code(value), ...more })

type Row = readonly [asks: string, elements: readonly Element[], sound: object, broken: object, says: string]

/** One thing a profile can ask, on Patient or Observation. */
const rows: readonly Row[] = [
  [
    'a minimum',
    [{ id: 'Patient.name', min: 1 }],
    patient({ name: [{ text: 'x' }] }),
    patient({}),
    'required Patient.name',
  ],
  [
    'a minimum of two',
    [{ id: 'Patient.name', min: 2 }],
    patient({ name: [{ text: 'x' }, { text: 'y' }] }),
    patient({ name: [{ text: 'x' }] }),
    'required Patient.name',
  ],
  [
    'a maximum',
    [{ id: 'Patient.name', max: '1' }],
    patient({ name: [{ text: 'x' }] }),
    patient({ name: [{ text: 'x' }, { text: 'y' }] }),
    'structure Patient.name',
  ],
  [
    'that an element is not there',
    [{ id: 'Patient.gender', max: '0' }],
    patient({}),
    patient({ gender: 'male' }),
    'structure Patient.gender',
  ],
  [
    'a minimum inside of a data type',
    [{ id: 'Patient.name.family', min: 1 }],
    patient({ name: [{ family: 'x' }] }),
    patient({ name: [{ family: 'x' }, { text: 'y' }] }),
    'required Patient.name[1].family',
  ],
  [
    'nothing of what is not there',
    [{ id: 'Patient.name.family', min: 1 }],
    patient({}),
    patient({ name: [{ text: 'y' }] }),
    'required Patient.name[0].family',
  ],
  [
    'a minimum of a choice',
    [{ id: 'Observation.value[x]', min: 1 }],
    observation({ valueString: 'x' }),
    observation({}),
    'required Observation.value',
  ],
  [
    'a type of a choice',
    [{ id: 'Observation.value[x]', type: [{ code: 'Quantity' }, { code: 'string' }] }],
    observation({ valueString: 'x' }),
    observation({ valueInteger: 1 }),
    'structure Observation.value',
  ],
  [
    'a choice by its JSON name',
    [{ id: 'Observation.valueQuantity', min: 1 }],
    observation({ valueQuantity: { value: 1 } }),
    observation({ valueString: 'x' }),
    'required Observation.value',
  ],
  [
    'an element of a choice by its JSON name',
    [{ id: 'Observation.valueQuantity.code', min: 1 }],
    observation({ valueQuantity: { value: 1, code: 'x' } }),
    observation({ valueQuantity: { value: 1 } }),
    'required Observation.value.code',
  ],
  [
    'a fixed code',
    [{ id: 'Patient.gender', fixedCode: 'male' }],
    patient({ gender: 'male' }),
    patient({ gender: 'female' }),
    'value Patient.gender',
  ],
  [
    'a fixed Boolean',
    [{ id: 'Patient.active', fixedBoolean: false }],
    patient({ active: false }),
    patient({ active: true }),
    'value Patient.active',
  ],
  [
    'a fixed object, exactly',
    [{ id: 'Observation.code', fixedCodeableConcept: code('a') }],
    observation({ code: code('a') }),
    observation({ code: { ...code('a'), text: 'x' } }),
    'value Observation.code',
  ],
  [
    'a pattern',
    [{ id: 'Observation.code', patternCodeableConcept: code('a') }],
    observation({ code: { coding: [{ code: 'b' }, { system: 'http://s', code: 'a', display: 'A' }], text: 'x' } }),
    observation({ code: code('b') }),
    'value Observation.code',
  ],
  [
    'a pattern of each item',
    [{ id: 'Patient.telecom', patternContactPoint: { system: 'phone' } }],
    patient({ telecom: [{ system: 'phone', value: '1' }] }),
    patient({
      telecom: [
        { system: 'phone', value: '1' },
        { system: 'email', value: 'x' },
      ],
    }),
    'value Patient.telecom[1]',
  ],
  [
    'a smallest integer',
    [{ id: 'Patient.multipleBirth[x]', minValueInteger: 2 }],
    patient({ multipleBirthInteger: 2 }),
    patient({ multipleBirthInteger: 1 }),
    'value Patient.multipleBirth',
  ],
  [
    'a largest date',
    [{ id: 'Patient.birthDate', maxValueDate: '2020-01-01' }],
    patient({ birthDate: '2020-01-01' }),
    patient({ birthDate: '2020-01-02' }),
    'value Patient.birthDate',
  ],
  [
    'a largest quantity',
    [{ id: 'Observation.value[x]', maxValueQuantity: { value: 5, code: 'kg' } }],
    observation({ valueQuantity: { value: 5, code: 'kg' } }),
    observation({ valueQuantity: { value: 6, code: 'kg' } }),
    'value Observation.value',
  ],
  [
    'a length',
    [{ id: 'Patient.name.family', maxLength: 3 }],
    patient({ name: [{ family: 'abc' }] }),
    patient({ name: [{ family: 'abcd' }] }),
    'too-long Patient.name[0].family',
  ],
  [
    'a required binding',
    [{ id: 'Observation.code', binding: { strength: 'required', valueSet: 'http://x/vs' } }],
    observation({ code: code('a') }),
    observation({ code: code('z') }),
    'code-invalid Observation.code',
  ],
  [
    'an extensible binding',
    [{ id: 'Observation.code', binding: { strength: 'extensible', valueSet: 'http://x/vs' } }],
    observation({ code: code('a') }),
    observation({ code: code('z') }),
    'warning code-invalid Observation.code',
  ],
  [
    'a largest value set',
    [
      {
        id: 'Observation.code',
        binding: {
          strength: 'preferred',
          extension: [{ url: `${CORE}elementdefinition-maxValueSet`, valueCanonical: 'http://x/vs' }],
        },
      },
    ],
    observation({ code: code('a') }),
    observation({ code: code('z') }),
    'code-invalid Observation.code',
  ],
  [
    'an invariant',
    [
      {
        id: 'Patient',
        constraint: [{ key: 'x-1', severity: 'error', human: 'x', expression: 'name.exists() or active' }],
      },
    ],
    patient({ active: true }),
    patient({ active: false }),
    'invariant Patient',
  ],
  [
    'a warning',
    [
      {
        id: 'Patient.name',
        constraint: [{ key: 'x-1', severity: 'warning', human: 'x', expression: 'family.exists()' }],
      },
    ],
    patient({ name: [{ family: 'x' }] }),
    patient({ name: [{ text: 'x' }] }),
    'warning invariant Patient.name[0]',
  ],
  [
    'an invariant of a primitive',
    [
      {
        id: 'Patient.name.family',
        constraint: [
          { key: 'x-1', severity: 'error', human: 'x', expression: "$this.length() > 1 and matches('^[A-Z]')" },
        ],
      },
    ],
    patient({ name: [{ family: 'Ab' }] }),
    patient({ name: [{ family: 'ab' }] }),
    'invariant Patient.name[0].family',
  ],
  [
    'an invariant only fhirpath.js understands',
    [
      {
        id: 'Patient',
        constraint: [{ key: 'x-1', severity: 'error', human: 'x', expression: 'birthDate <= today()' }],
      },
    ],
    patient({ birthDate: '1970-01-01' }),
    patient({ birthDate: '9999-01-01' }),
    'invariant Patient',
  ],
  [
    'a type of reference',
    [{ id: 'Observation.subject', type: [{ code: 'Reference', targetProfile: [`${CORE}Patient`] }] }],
    observation({ subject: { reference: 'http://x/y/Patient/1' } }),
    observation({ subject: { reference: 'Group/1' } }),
    'structure Observation.subject',
  ],
  [
    'an extension of a primitive',
    [{ id: 'Patient.birthDate.extension', min: 1 }],
    patient({ birthDate: '2000', _birthDate: { extension: [{ url: 'http://y', valueCode: 'x' }] } }),
    patient({ birthDate: '2000' }),
    'required Patient.birthDate.extension',
  ],
]

const VALUE_SET = {
  resourceType: 'ValueSet',
  url: 'http://x/vs',
  compose: { include: [{ system: 'http://s', concept: [{ code: 'a' }] }] },
}

for (const [asks, elements, sound, broken, says] of rows) {
  test(`a profile can ask for ${asks}`, () => {
    const definitions = [profile('p', elements[0]!.id.split('.')[0]!, elements), VALUE_SET]
    assert.equal(saysOf(definitions, sound), [])
    assert.equal(saysOf(definitions, broken), [says])
  })
}

const sliced = (type: string, path: string, discriminator: object[], rules = 'open', more: object = {}) => ({
  id: path,
  slicing: { discriminator: discriminator.map((one) => ({ type, path: '$this', ...one })), rules, ...more },
})
const slices = (elements: readonly Element[], resource: any, more: readonly any[] = []) =>
  saysOf([profile('p', elements[0]!.id.split('.')[0]!, elements), VALUE_SET, ...more], resource)

const byCode = (rules: string, more: object = {}) => [
  sliced('value', 'Observation.component', [{ path: 'code.coding.code' }], rules, more),
  { id: 'Observation.component:a', sliceName: 'a', min: 1, max: '1' },
  { id: 'Observation.component:a.code.coding.code', fixedCode: 'a' },
  { id: 'Observation.component:a.value[x]', min: 1 },
  { id: 'Observation.component:b', sliceName: 'b', max: '1' },
  { id: 'Observation.component:b.code', patternCodeableConcept: code('b') },
]
const A = component('a', { valueString: 'x' })
const components = (...component: object[]) => observation({ component })

test('slices by value: each has its own cardinality and its own elements', () => {
  assert.equal(slices(byCode('open'), components(A, component('b'), component('z'))), [])
  assert.equal(slices(byCode('open'), components(component('b'))), ['required Observation.component'])
  assert.equal(slices(byCode('open'), components(A, A)), ['structure Observation.component'])
  assert.equal(slices(byCode('open'), components(A, component('b'), component('b'))), [
    'structure Observation.component',
  ])
  assert.equal(slices(byCode('open'), components(component('b'), component('a'))), [
    'required Observation.component[1].value',
  ])
  assert.equal(slices(byCode('open'), observation({})), ['required Observation.component'])
})

test('closed slicing lets nothing else in; open at the end lets it in at the end; ordered keeps the order', () => {
  assert.equal(slices(byCode('closed'), components(A, component('b'))), [])
  assert.equal(slices(byCode('closed'), components(A, component('z'))), ['structure Observation.component[1]'])
  assert.equal(slices(byCode('openAtEnd'), components(A, component('b'), component('z'))), [])
  assert.equal(slices(byCode('openAtEnd'), components(component('z'), A)), ['structure Observation.component[1]'])
  assert.equal(slices(byCode('open', { ordered: true }), components(A, component('z'), component('b'))), [])
  assert.equal(slices(byCode('open', { ordered: true }), components(component('b'), A)), [
    'structure Observation.component[1]',
  ])
})

test('a slice is asked for even where its numbers are those of the element', () => {
  const base = { path: 'Provenance.agent', min: 1, max: '*' }
  const elements = [
    { ...sliced('value', 'Provenance.agent', [{ path: 'type.coding.code' }]), min: 1, max: '*', base },
    { id: 'Provenance.agent:author', sliceName: 'author', min: 1, max: '*', base },
    { id: 'Provenance.agent:author.type.coding.code', fixedCode: 'author' },
  ]
  const { differential, ...rest } = profile('p', 'Provenance', elements)
  const snapshots = [{ ...rest, snapshot: differential }]
  const provenance = (role: string) => ({
    ...{ resourceType: 'Provenance', target: [{ display: 'x' }], recorded: '2020-01-01T00:00:00Z' },
    agent: [{ type: code(role), who: { display: 'x' } }],
  })
  assert.equal(saysOf(snapshots, provenance('author')), [])
  assert.equal(saysOf(snapshots, provenance('verifier')), ['required Provenance.agent'])
})

test('slices by a pattern of the element itself', () => {
  const elements = [
    sliced('pattern', 'Patient.telecom', [{}]),
    { id: 'Patient.telecom:phone', sliceName: 'phone', min: 1, patternContactPoint: { system: 'phone' } },
  ]
  assert.equal(
    slices(
      elements,
      patient({
        telecom: [
          { system: 'email', value: 'x' },
          { system: 'phone', value: '1' },
        ],
      }),
    ),
    [],
  )
  assert.equal(slices(elements, patient({ telecom: [{ system: 'email', value: 'x' }] })), ['required Patient.telecom'])
})

test('slices by two values together', () => {
  const elements = [
    sliced('value', 'Patient.telecom', [{ path: 'system' }, { path: 'use' }]),
    { id: 'Patient.telecom:home', sliceName: 'home', max: '1' },
    { id: 'Patient.telecom:home.system', fixedCode: 'phone' },
    { id: 'Patient.telecom:home.use', fixedCode: 'home' },
  ]
  const phone = (use: string) => ({ system: 'phone', value: '1', use })
  assert.equal(slices(elements, patient({ telecom: [phone('home'), phone('work'), phone('work')] })), [])
  assert.equal(slices(elements, patient({ telecom: [phone('home'), phone('home')] })), ['structure Patient.telecom'])
})

test('slices by a required binding', () => {
  const elements = [
    sliced('value', 'Observation.category', [{}]),
    {
      id: 'Observation.category:a',
      sliceName: 'a',
      min: 1,
      binding: { strength: 'required', valueSet: 'http://x/vs' },
    },
  ]
  assert.equal(slices(elements, observation({ category: [code('z'), code('a')] })), [])
  assert.equal(slices(elements, observation({ category: [code('z')] })), ['required Observation.category'])
})

test('slices by what exists', () => {
  const elements = [
    sliced('exists', 'Patient.name', [{ path: 'family' }]),
    { id: 'Patient.name:full', sliceName: 'full', max: '1' },
    { id: 'Patient.name:full.family', min: 1 },
    { id: 'Patient.name:full.given', min: 1 },
    { id: 'Patient.name:nick', sliceName: 'nick' },
    { id: 'Patient.name:nick.family', max: '0' },
    { id: 'Patient.name:nick.text', min: 1 },
  ]
  assert.equal(slices(elements, patient({ name: [{ family: 'x', given: ['y'] }, { text: 'z' }, { text: 'z' }] })), [])
  assert.equal(slices(elements, patient({ name: [{ family: 'x' }] })), ['required Patient.name[0].given'])
  assert.equal(slices(elements, patient({ name: [{ given: ['x'] }] })), ['required Patient.name[0].text'])
})

test('slices of a choice by its type, said and unsaid', () => {
  for (const head of [sliced('type', 'Observation.value[x]', [{}]), { id: 'Observation.value[x]' }]) {
    const elements = [
      head,
      { id: 'Observation.value[x]:valueQuantity', sliceName: 'valueQuantity', type: [{ code: 'Quantity' }] },
      { id: 'Observation.value[x]:valueQuantity.code', min: 1 },
    ]
    assert.equal(slices(elements, observation({ valueString: 'x' })), [])
    assert.equal(slices(elements, observation({ valueQuantity: { value: 1, code: 'x' } })), [])
    assert.equal(slices(elements, observation({ valueQuantity: { value: 1 } })), ['required Observation.value.code'])
  }
})

test('slices of entries by the type of their resource', () => {
  const elements = [
    sliced('type', 'Bundle.entry', [{ path: 'resource' }], 'closed'),
    { id: 'Bundle.entry:patient', sliceName: 'patient', min: 1, max: '1' },
    { id: 'Bundle.entry:patient.resource', type: [{ code: 'Patient' }] },
    { id: 'Bundle.entry:patient.fullUrl', min: 1 },
  ]
  const bundle = (...entry: object[]) => ({ resourceType: 'Bundle', type: 'collection', entry })
  const entry = { fullUrl: 'http://x', resource: patient({}) }
  assert.equal(slices(elements, bundle(entry)), [])
  assert.equal(slices(elements, bundle({ resource: patient({}) })), ['required Bundle.entry[0].fullUrl'])
  assert.equal(slices(elements, bundle(entry, { resource: observation({}) })), ['structure Bundle.entry[1]'])
})

test('slices of references by the type they refer to', () => {
  const elements = [
    sliced('type', 'Observation.performer', [{ path: 'resolve()' }]),
    {
      id: 'Observation.performer:who',
      sliceName: 'who',
      min: 1,
      type: [{ code: 'Reference', targetProfile: [`${CORE}Practitioner`] }],
    },
  ]
  const performers = (...performer: object[]) =>
    observation({ performer, contained: [{ resourceType: 'Practitioner', id: 'p' }] })
  assert.equal(slices(elements, performers({ reference: 'Patient/1' }, { reference: 'Practitioner/1' })), [])
  assert.equal(slices(elements, performers({ reference: '#p' })), [])
  assert.equal(slices(elements, performers({ type: 'Practitioner', display: 'x' })), [])
  assert.equal(slices(elements, performers({ reference: 'Patient/1' })), ['required Observation.performer'])
})

test('slices by profile', () => {
  const adult = profile('adult', 'Patient', [{ id: 'Patient.birthDate', min: 1 }])
  const elements = [
    sliced('profile', 'Bundle.entry', [{ path: 'resource' }]),
    { id: 'Bundle.entry:adult', sliceName: 'adult', min: 1 },
    { id: 'Bundle.entry:adult.resource', type: [{ code: 'Patient', profile: [adult.url] }] },
  ]
  const bundle = (...resources: object[]) => ({
    resourceType: 'Bundle',
    type: 'collection',
    entry: resources.map((resource) => ({ resource })),
  })
  assert.equal(slices(elements, bundle(patient({}), patient({ birthDate: '2000' })), [adult]), [])
  assert.equal(slices(elements, bundle(patient({}), observation({})), [adult]), ['required Bundle.entry'])
})

test('slices inside slices, and slices of slices', () => {
  const inside = [
    sliced('value', 'Observation.component', [{ path: 'code.coding.code' }]),
    { id: 'Observation.component:a', sliceName: 'a' },
    { id: 'Observation.component:a.code.coding.code', fixedCode: 'a' },
    sliced('value', 'Observation.component:a.interpretation', [{ path: 'coding.code' }]),
    { id: 'Observation.component:a.interpretation:high', sliceName: 'high', min: 1 },
    { id: 'Observation.component:a.interpretation:high.coding.code', fixedCode: 'H' },
  ]
  assert.equal(
    slices(inside, components(component('a', { interpretation: [code('L'), code('H')] }), component('b'))),
    [],
  )
  assert.equal(slices(inside, components(component('b'), component('a', { interpretation: [code('L')] }))), [
    'required Observation.component[1].interpretation',
  ])

  const again = [
    sliced('value', 'Patient.telecom', [{ path: 'system' }]),
    {
      id: 'Patient.telecom:phone',
      sliceName: 'phone',
      max: '2',
      slicing: { discriminator: [{ type: 'value', path: 'use' }], rules: 'closed' },
    },
    { id: 'Patient.telecom:phone.system', fixedCode: 'phone' },
    { id: 'Patient.telecom:phone/home', sliceName: 'phone/home', max: '1' },
    { id: 'Patient.telecom:phone/home.use', fixedCode: 'home' },
  ]
  const telecom = (...all: [string, string][]) =>
    patient({ telecom: all.map(([system, use]) => ({ system, use, value: '1' })) })
  assert.equal(slices(again, telecom(['phone', 'home'], ['email', 'work'])), [])
  assert.equal(slices(again, telecom(['phone', 'home'], ['phone', 'home'])), ['structure Patient.telecom'])
  assert.equal(slices(again, telecom(['phone', 'work'])), ['structure Patient.telecom[0]'])
})

test('what cannot be told is a warning, not an error', () => {
  const elements = [
    sliced('value', 'Patient.telecom', [{ path: 'value.length()' }]),
    { id: 'Patient.telecom:x', sliceName: 'x', min: 1 },
  ]
  assert.equal(slices(elements, patient({ telecom: [{ system: 'phone', value: '1' }] })), [
    'warning incomplete Patient.telecom',
  ])
})

const RACE = profile('race', 'Extension', [
  { id: 'Extension.extension:text', sliceName: 'text', min: 1, max: '1' },
  { id: 'Extension.extension:text.url', fixedUri: 'text' },
  { id: 'Extension.extension:text.value[x]', min: 1, type: [{ code: 'string' }] },
  { id: 'Extension.extension:code', sliceName: 'code', max: '2' },
  { id: 'Extension.extension:code.url', fixedUri: 'code' },
  { id: 'Extension.url', fixedUri: `${X}race` },
  { id: 'Extension.value[x]', max: '0' },
])

test('extensions are sliced by URL, and are checked against their own profile', () => {
  const elements = [
    {
      id: 'Patient.extension:race',
      sliceName: 'race',
      min: 1,
      max: '1',
      type: [{ code: 'Extension', profile: [`${X}race|1.0`] }],
    },
  ]
  const race = (...extension: object[]) =>
    patient({
      extension: [
        { url: 'http://other', valueCode: 'x' },
        { url: `${X}race`, extension },
      ],
    })
  const text = { url: 'text', valueString: 'x' }
  assert.equal(slices(elements, race(text), [RACE]), [])
  assert.equal(slices(elements, patient({}), [RACE]), ['required Patient.extension'])
  assert.equal(slices(elements, race({ url: 'text', valueCode: 'x' }), [RACE]), [
    'structure Patient.extension[1].extension[0].value',
  ])
  assert.equal(slices(elements, race({ url: 'code', valueCode: 'x' }), [RACE]), [
    'required Patient.extension[1].extension',
  ])
  assert.equal(slices(elements, race(text, text), [RACE]), ['structure Patient.extension[1].extension'])
  assert.equal(slices(elements, patient({ extension: [{ url: `${X}race`, valueString: 'x' }] }), [RACE]), [
    'required Patient.extension[0].extension',
    'structure Patient.extension[0].value',
  ])
})

test('an extension whose profile is not installed is told once, and its URL still counts', () => {
  const elements = [
    { id: 'Patient.extension:race', sliceName: 'race', max: '1', type: [{ code: 'Extension', profile: [`${X}race`] }] },
  ]
  const race = { url: `${X}race`, valueString: 'x' }
  assert.equal(slices(elements, patient({ extension: [race] })), ['warning not-found Patient.extension[0]'])
  assert.ok(slices(elements, patient({ extension: [race, race] })).includes('structure Patient.extension'))
})

test('extensions of primitives are sliced too', () => {
  const elements = [
    {
      id: 'Patient.birthDate.extension:time',
      sliceName: 'time',
      min: 1,
      type: [{ code: 'Extension', profile: [`${CORE}patient-birthTime`] }],
    },
  ]
  const born = (url: string) =>
    patient({ birthDate: '2000-01-01', _birthDate: { extension: [{ url, valueDateTime: '2000-01-01T00:00:00Z' }] } })
  assert.equal(slices(elements, born(`${CORE}patient-birthTime`)), [])
  assert.equal(slices(elements, born('http://other')), ['required Patient.birthDate.extension'])
})

test('a profile without snapshot asks what its base asks, and more', () => {
  const base = profile('base', 'Patient', [...byTelecom(), { id: 'Patient.name', min: 1 }])
  const derived = profile(
    'derived',
    'Patient',
    [
      { id: 'Patient.telecom:phone', sliceName: 'phone', min: 1 },
      { id: 'Patient.name.family', min: 1 },
    ],
    base.url,
  )
  assert.equal(saysOf([derived, base], patient({ name: [{ text: 'x' }] })), [
    'required Patient.telecom',
    'required Patient.name[0].family',
  ])
  assert.equal(saysOf([derived, base], patient({})), ['required Patient.telecom', 'required Patient.name'])
  assert.equal(saysOf([derived, base], patient({}), [base.url]), ['required Patient.name'])
})

function byTelecom() {
  return [
    sliced('value', 'Patient.telecom', [{ path: 'system' }]),
    { id: 'Patient.telecom:phone', sliceName: 'phone' },
    { id: 'Patient.telecom:phone.system', fixedCode: 'phone' },
  ]
}

test('a profile whose base is not installed is checked as far as it goes, and that is told', () => {
  const derived = profile('derived', 'Patient', [{ id: 'Patient.name', min: 1 }], `${X}missing`)
  const issues = profilesOver([derived]).check(patient({}), {
    profileUrls: [derived.url],
    profiles: true,
    extensions: new Set(),
    limit: 100,
  })
  assert.equal(
    issues.map(({ severity, code }) => `${severity} ${code}`),
    ['warning incomplete', 'error required'],
  )
  assert.match(issues[0]!.diagnostics, `${X}missing is not installed`)
})

test('profiles that are each other’s base end', () => {
  const one = profile('one', 'Patient', [{ id: 'Patient.name', min: 1 }], `${X}two`)
  const two = profile('two', 'Patient', [{ id: 'Patient.gender', min: 1 }], `${X}one`)
  assert.ok(saysOf([one, two], patient({})).includes('required Patient.name'))
})

test('a profile that asks itself of the element it is about ends', () => {
  const self = profile('self', 'Extension', [
    { id: 'Extension.extension:s', sliceName: 's', type: [{ code: 'Extension', profile: [`${X}self`] }] },
  ])
  const deep = (levels: number): object =>
    levels === 0 ? { url: `${X}self`, valueCode: 'x' } : { url: `${X}self`, extension: [deep(levels - 1)] }
  const elements = [{ id: 'Patient.extension:s', sliceName: 's', type: [{ code: 'Extension', profile: [`${X}self`] }] }]
  assert.equal(slices(elements, patient({ extension: [deep(90)] }), [self]), [])
})

test('profiles are those in meta.profile and those asked for, each once; one that is not installed is a warning', () => {
  const one = profile('one', 'Patient', [{ id: 'Patient.name', min: 1 }])
  const two = profile('two', 'Patient', [{ id: 'Patient.gender', min: 1 }])
  const claiming = (...urls: string[]) => patient({ meta: { profile: urls } })
  assert.equal(saysOf([one, two], claiming(one.url), []), ['required Patient.name'])
  assert.equal(saysOf([one, two], claiming(one.url), [one.url, two.url]), [
    'required Patient.name',
    'required Patient.gender',
  ])
  assert.equal(saysOf([one, two], claiming(`${X}none`), []), ['warning not-found Patient'])
  assert.equal(saysOf([one, two], claiming(`${one.url}|1.0`), []), ['required Patient.name'])
  assert.equal(saysOf([one, two], claiming(`${CORE}Patient`), []), [])
})

test('a profile of another type is an error', () => {
  const one = profile('one', 'Observation', [])
  assert.equal(saysOf([one], patient({})), ['structure Patient'])
  assert.equal(saysOf([one], patient({ meta: { profile: [`${CORE}Observation`] } }), []), ['structure Patient'])
})

test('resources inside of a resource are checked against the profiles they claim', () => {
  const one = profile('one', 'Patient', [{ id: 'Patient.name', min: 1 }])
  const claiming = patient({ id: 'p', meta: { profile: [one.url] } })
  const says = (resource: object) => saysOf([one], resource, [])
  assert.equal(says({ resourceType: 'Bundle', type: 'collection', entry: [{}, { resource: claiming }] }), [
    'required Bundle.entry[1].resource.name',
  ])
  assert.equal(says(observation({ contained: [claiming] })), ['required Observation.contained[0].name'])
  assert.equal(
    says({ resourceType: 'Parameters', parameter: [{ name: 'a', part: [{ name: 'b', resource: claiming }] }] }),
    ['required Parameters.parameter[0].part[0].resource.name'],
  )
})

test('a data type of a resource may have a profile of its own', () => {
  const full = { ...profile('full', 'HumanName', [{ id: 'HumanName.given', min: 1 }]), kind: 'complex-type' }
  const elements = [{ id: 'Patient.name', type: [{ code: 'HumanName', profile: [full.url] }] }]
  assert.equal(slices(elements, patient({ name: [{ given: ['x'] }] }), [full]), [])
  assert.equal(slices(elements, patient({ name: [{ text: 'x' }] }), [full]), ['required Patient.name[0].given'])
})

test('one of several profiles of a type is enough', () => {
  const given = { ...profile('given', 'HumanName', [{ id: 'HumanName.given', min: 1 }]), kind: 'complex-type' }
  const family = { ...profile('family', 'HumanName', [{ id: 'HumanName.family', min: 1 }]), kind: 'complex-type' }
  const elements = [{ id: 'Patient.name', type: [{ code: 'HumanName', profile: [given.url, family.url] }] }]
  assert.equal(slices(elements, patient({ name: [{ given: ['x'] }, { family: 'x' }] }), [given, family]), [])
  assert.equal(slices(elements, patient({ name: [{ text: 'x' }] }), [given, family]), ['structure Patient.name[0]'])
})

test('issues name the profile and are no more than asked for', () => {
  const one = profile('one', 'Patient', [{ id: 'Patient.name.family', min: 1 }])
  const many = patient({ name: Array.from({ length: 50 }, () => ({ text: 'x' })) })
  const issues = profilesOver([one]).check(many, {
    profileUrls: [one.url],
    profiles: true,
    extensions: new Set(),
    limit: 10,
  })
  assert.is(issues.length, 10)
  assert.is(
    issues[0]!.diagnostics,
    `Patient.name[0].family: the element family is required at least once, and is there 0 times. (Profile ${one.url})`,
  )
})

// R4's own profiles have snapshots; without them the differentials must say the same.

const structure = createStructureValidator(r4Definitions())
const withoutSnapshot = (definition: any) => {
  if (definition.resourceType !== 'StructureDefinition' || definition.derivation !== 'constraint') return definition
  const { snapshot: _, ...rest } = definition
  return rest
}
const fromSnapshots = profilesOver([])
const fromDifferentials = profilesOver([], withoutSnapshot)

const errorsOf = (profiles: typeof fromSnapshots, resource: any) => [
  ...new Set(
    profiles
      .check(resource, { profileUrls: [], profiles: true, extensions: new Set(), limit: 1000 })
      .filter(({ severity, code }) => severity === 'error' || code === 'incomplete')
      .map(({ code: kind, expression }) => `${kind} ${expression}`)
      .toSorted(),
  ),
]

test('blood pressure without its systolic part, and other faults of a vital sign', () => {
  const text = r4Text('Observation-blood-pressure.json')
  const says = (change: (observation: any) => void) => {
    const resource = JSON.parse(text)
    resource.meta = { profile: [`${CORE}bp`] }
    change(resource)
    return errorsOf(fromSnapshots, resource)
  }
  assert.equal(
    says(() => undefined),
    [],
  )
  assert.equal(
    says((resource) => resource.component.shift()),
    ['required Observation.component'],
  )
  assert.equal(
    says((resource) => delete resource.subject),
    ['required Observation.subject'],
  )
  assert.equal(
    says((resource) => (resource.category = [{ text: 'x' }])),
    ['required Observation.category'],
  )
  assert.equal(
    says((resource) => (resource.component[0].valueQuantity.code = 'kPa')),
    ['code-invalid Observation.component[0].value', 'value Observation.component[0].value.code'],
  )
  assert.equal(
    says((resource) => (resource.effectiveDateTime = '2020')),
    ['invariant Observation.effective'],
  )
})

/** Every variant of a resource that lacks one member, or has one changed. */
const variants = function* (object: any): Generator<void> {
  if (typeof object !== 'object' || object === null) return
  for (const key of Object.keys(object)) {
    const value = object[key]
    if (key === 'resourceType' || key === 'profile') continue
    if (!Array.isArray(object)) {
      delete object[key]
      yield
      object[key] = value
    }
    if (typeof value === 'string') {
      object[key] = `${value}x`
      yield
    } else if (Array.isArray(value)) {
      object[key] = [...value, ...value]
      yield
    }
    object[key] = value
    yield* variants(value)
  }
}

test('the examples of R4 conform to the profiles they claim; snapshot and differential judge every change alike', () => {
  let compared = 0
  let refused = 0
  const kinds = new Set<string>()
  for (const file of r4Files()) {
    if (/^(SearchParameter|ValueSet|CodeSystem|StructureDefinition|Bundle)-/.test(file)) continue
    const text = r4Text(file)
    if (text.length > 30_000 || !text.includes('"profile"')) continue
    const resource = JSON.parse(text)
    if (resource.meta?.profile === undefined) continue
    assert.equal(errorsOf(fromSnapshots, resource), [], file)
    for (const _ of variants(resource)) {
      if (structure.validate(resource).length > 0) continue // profiles take the structure as sound
      const errors = errorsOf(fromSnapshots, resource)
      assert.equal(errorsOf(fromDifferentials, resource), errors, file)
      compared++
      if (errors.length > 0) refused++
      for (const error of errors) kinds.add(error.split(' ')[0]!)
    }
    assert.equal(errorsOf(fromSnapshots, resource), [], `${file} after its changes`)
  }
  assert.ok(compared > 800 && refused > 100, `${compared} changes, ${refused} refused`)
  assert.ok(
    ['required', 'structure', 'invariant', 'code-invalid'].every((kind) => kinds.has(kind)),
    [...kinds].join(),
  )
})

test.run()
