/** `:in`, `:not-in`, `:above` and `:below` over value sets and code systems that are installed or stored. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import terminology from '../../../plugins/terminology/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

let server: TestServer
const headers = { 'content-type': 'application/fhir+json' }
const send = async (method: 'PUT' | 'DELETE', url: string, resource?: object) => {
  const payload = resource === undefined ? {} : { headers, payload: JSON.stringify(resource) }
  const answer = await server.inject({ method, url, ...payload })
  assert.ok(answer.statusCode < 300, answer.body)
}
const put = (resource: Record<string, any>) => send('PUT', `/${resource.resourceType}/${resource.id}`, resource)

const ANIMALS = 'http://animals.example'
const animals = (content = 'complete') => ({
  resourceType: 'CodeSystem',
  id: 'animals',
  status: 'active',
  url: ANIMALS,
  content,
  property: [
    { code: 'legs', type: 'integer' },
    { code: 'kin', uri: 'http://hl7.org/fhir/concept-properties#parent', type: 'code' },
  ],
  concept: [
    {
      code: 'mammal',
      display: 'Mammal',
      concept: [
        { code: 'dog', display: 'Dog', property: [{ code: 'legs', valueInteger: 4 }] },
        {
          code: 'whale',
          display: 'Whale',
          property: [
            { code: 'legs', valueInteger: 0 },
            { code: 'kin', valueCode: 'swimmer' },
          ],
          concept: [{ code: 'orca', display: 'Orca' }],
        },
      ],
    },
    { code: 'swimmer', display: 'Swimmer' },
    { code: 'fish', display: 'Fish', property: [{ code: 'status', valueCode: 'retired' }] },
  ],
})
const CODES = ['mammal', 'dog', 'whale', 'orca', 'swimmer', 'fish', 'stone']
const set = (id: string, more: object) =>
  put({ resourceType: 'ValueSet', id, status: 'active', url: `http://sets.example/${id}`, ...more })
const compose = (include: readonly object[], exclude: readonly object[] = [], more: object = {}) => ({
  compose: { include, ...(exclude.length === 0 ? {} : { exclude }), ...more },
})
const filter = (property: string, op: string, value: string) => ({
  system: ANIMALS,
  filter: [{ property, op, value }],
})

test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), ...fhirPlugins, terminology],
    settings: { conformance: { update_as_create: true } },
  })
  await put(animals())
  for (const code of CODES)
    await put({
      resourceType: 'Condition',
      id: code,
      subject: { reference: 'Patient/1' },
      code: { coding: [{ system: ANIMALS, code }] },
    })
  await put({
    resourceType: 'Condition',
    id: 'elsewhere',
    subject: { reference: 'Patient/1' },
    code: { coding: [{ system: 'http://other.example', code: 'dog' }] },
  })
  await put({ resourceType: 'Patient', id: 'm', gender: 'male' })
  await put({ resourceType: 'Patient', id: 'o', gender: 'other' })
  await put({ resourceType: 'Patient', id: 'n' })
})
test.after(() => server.stop())

const ask = (type: string, query: string) => server.inject(`/${type}?${query}&_count=100`)
const find = async (query: string, type = 'Condition'): Promise<string> => {
  const answer = await ask(type, query)
  assert.is(answer.statusCode, 200, `${query} ${answer.body.slice(0, 400)}`)
  return (answer.json().entry ?? [])
    .map((entry: any) => entry.resource.id)
    .sort()
    .join(' ')
}
const sorted = (text: string): string => text.split(' ').sort().join(' ')

const SETS: readonly (readonly [string, object, string])[] = [
  ['listed', compose([{ system: ANIMALS, concept: [{ code: 'dog' }, { code: 'stone' }] }]), 'dog stone'],
  ['whole', compose([{ system: ANIMALS }]), 'mammal dog whale orca swimmer fish'],
  ['is-a', compose([filter('concept', 'is-a', 'whale')]), 'whale orca'],
  ['by-property', compose([filter('concept', 'is-a', 'swimmer')]), 'swimmer whale orca'],
  ['descendants', compose([filter('concept', 'descendent-of', 'mammal')]), 'dog whale orca'],
  ['is-not-a', compose([filter('concept', 'is-not-a', 'mammal')]), 'swimmer fish'],
  ['generalizes', compose([filter('concept', 'generalizes', 'orca')]), 'orca whale mammal swimmer'],
  ['equals', compose([filter('legs', '=', '4')]), 'dog'],
  ['in', compose([filter('code', 'in', 'dog,fish')]), 'dog fish'],
  ['not-in', compose([filter('code', 'not-in', 'dog,fish')]), 'mammal whale orca swimmer'],
  ['regex', compose([filter('display', 'regex', '.*a.*')]), 'mammal whale orca'],
  ['exists', compose([filter('legs', 'exists', 'true')]), 'dog whale'],
  ['child-of', compose([filter('parent', '=', 'mammal')]), 'dog whale'],
  [
    'two-filters',
    compose([
      {
        system: ANIMALS,
        filter: [...filter('concept', 'is-a', 'mammal').filter, ...filter('legs', 'exists', 'false').filter],
      },
    ]),
    'mammal orca',
  ],
  ['without', compose([{ system: ANIMALS }], [filter('concept', 'is-a', 'whale')]), 'mammal dog swimmer fish'],
  ['active', compose([{ system: ANIMALS }], [], { inactive: false }), 'mammal dog whale orca swimmer'],
  ['imported', compose([{ valueSet: ['http://sets.example/is-a'] }]), 'whale orca'],
  ['both', compose([{ valueSet: ['http://sets.example/is-a', 'http://sets.example/regex'] }]), 'whale orca'],
  ['crossed', compose([{ system: ANIMALS, valueSet: ['http://sets.example/listed'] }]), 'dog'],
  [
    'united',
    compose([{ valueSet: ['http://sets.example/listed'] }, filter('concept', 'is-a', 'orca')]),
    'dog stone orca',
  ],
  [
    'expanded',
    {
      expansion: {
        timestamp: '2024',
        contains: [{ system: ANIMALS, code: 'mammal', abstract: true, contains: [{ system: ANIMALS, code: 'dog' }] }],
      },
    },
    'dog',
  ],
  [
    'fallback',
    {
      ...compose([{ system: 'http://snomed.info/sct', filter: [{ property: 'concept', op: 'is-a', value: '1' }] }]),
      expansion: { timestamp: '2024', contains: [{ system: ANIMALS, code: 'fish' }] },
    },
    'fish',
  ],
]
for (const [id, more, expected] of SETS)
  test(`a value set ${id} holds what it says, and nothing else is found`, async () => {
    await set(id, more)
    const url = `http://sets.example/${id}`
    assert.is(await find(`code:in=${url}`), sorted(expected))
    const others = [...CODES, 'elsewhere'].filter((one) => !expected.split(' ').includes(one))
    assert.is(await find(`code:not-in=${url}`), sorted(others.join(' ')))
  })

test('value sets of the packages are expanded, and their systems implied', async () => {
  assert.is(await find('gender:in=http://hl7.org/fhir/ValueSet/administrative-gender', 'Patient'), 'm o')
  assert.is(await find('gender:not-in=http://hl7.org/fhir/ValueSet/administrative-gender', 'Patient'), 'n')
  assert.is(await find('gender:in=http://hl7.org/fhir/ValueSet/administrative-gender%7C4.0.1', 'Patient'), 'm o')
})

test('a value set may be named by its address and its version', async () => {
  await set('versioned', { version: '1', ...compose([{ system: ANIMALS, concept: [{ code: 'dog' }] }]) })
  await put({
    resourceType: 'ValueSet',
    id: 'versioned2',
    status: 'active',
    url: 'http://sets.example/versioned',
    version: '10',
    ...compose([{ system: ANIMALS, concept: [{ code: 'fish' }] }]),
  })
  assert.is(await find('code:in=ValueSet/versioned'), 'dog')
  assert.is(await find('code:in=http://sets.example/versioned%7C1'), 'dog')
  assert.is(await find('code:in=http://sets.example/versioned%7C10'), 'fish')
  assert.is(await find('code:in=http://sets.example/versioned'), 'fish', 'the highest version')
})

test('above and below follow the hierarchy', async () => {
  const value = (code: string) => `${ANIMALS}%7C${code}`
  assert.is(await find(`code:below=${value('mammal')}`), 'dog mammal orca whale')
  assert.is(await find(`code:below=${value('swimmer')}`), 'orca swimmer whale')
  assert.is(await find(`code:above=${value('orca')}`), 'mammal orca swimmer whale')
  assert.is(await find(`code:below=${value('dog')},${value('fish')}`), 'dog fish')
  assert.is(await find(`_filter=code sb ${value('dog')}`), 'dog mammal')
  assert.is(await find(`_filter=code ss ${value('whale')}`), 'orca whale')
  assert.is(await find('_filter=code in http://sets.example/listed'), 'dog stone')
  assert.is(
    await find('_filter=code ni http://sets.example/listed and not(code eq fish)'),
    'elsewhere mammal orca swimmer whale',
  )
})

test('what is written anew counts at once', async () => {
  await set('changing', compose([{ system: ANIMALS, concept: [{ code: 'dog' }] }]))
  assert.is(await find('code:in=http://sets.example/changing'), 'dog')
  await set('changing', compose([{ system: ANIMALS, concept: [{ code: 'fish' }] }]))
  assert.is(await find('code:in=http://sets.example/changing'), 'fish')
  await send('DELETE', '/ValueSet/changing')
  assert.is((await ask('Condition', 'code:in=http://sets.example/changing')).statusCode, 400)
})

test('what is not known or cannot be expanded is 400 and says why, never an empty answer', async () => {
  await set(
    'snomed',
    compose([{ system: 'http://snomed.info/sct', filter: [{ property: 'concept', op: 'is-a', value: '1' }] }]),
  )
  await set('circle', compose([{ valueSet: ['http://sets.example/circle'] }]))
  await set('gap', compose([{ valueSet: ['http://sets.example/nowhere'] }]))
  await set('odd', compose([filter('legs', 'like', '4')]))
  await set('evil', compose([filter('code', 'regex', '(a+)+$')]))
  await set('empty-handed', {})
  await set('page', { expansion: { timestamp: '2024', total: 900, contains: [{ system: ANIMALS, code: 'dog' }] } })
  await put({ ...animals('not-present'), id: 'absent', url: 'http://absent.example', concept: undefined })
  await set('absent', compose([{ system: 'http://absent.example' }]))
  const many = Array.from({ length: 6_000 }, (_, at) => ({ code: `c${at}` }))
  await set('large', compose([{ system: 'http://large.example', concept: many }]))
  for (const [query, code, said] of [
    ['code:in=http://sets.example/unheard', 'value', /ValueSet that is known/],
    ['code:not-in=http://sets.example/unheard', 'value', /ValueSet that is known/],
    ['code:in=http://sets.example/snomed', 'not-supported', /snomed.info\/sct there is only/],
    ['code:in=http://sets.example/circle', 'not-supported', /includes itself/],
    ['code:in=http://sets.example/gap', 'not-supported', /nowhere in it is not here/],
    ['code:in=http://sets.example/odd', 'not-supported', /operator like/],
    ['code:in=http://sets.example/evil', 'not-supported', /safely/],
    ['code:in=http://sets.example/empty-handed', 'not-supported', /neither/],
    ['code:in=http://sets.example/page', 'not-supported', /neither/],
    ['code:in=http://sets.example/absent', 'not-supported', /not-present/],
    ['code:in=http://sets.example/large', 'too-costly', /5000 codes/],
    ['code:below=http://unheard.example%7Cx', 'value', /system that is known/],
    [`code:below=${ANIMALS}%7Cunicorn`, 'not-supported', /no such code/],
    ['code:below=http://absent.example%7Cx', 'not-supported', /not-present/],
    ['code:below=dog', 'value', /with its system/],
  ] as const) {
    const answer = await ask('Condition', query)
    assert.is(answer.statusCode, 400, `${query} ${answer.body.slice(0, 300)}`)
    assert.is(answer.json().issue[0].code, code, query)
    assert.match(answer.json().issue[0].diagnostics, said, query)
  }
})

test('inside a transaction a value set cannot be asked for, in a batch it can', async () => {
  const ask = async (type: string) => {
    const entry = [{ request: { method: 'GET', url: 'Condition?code:in=http://sets.example/listed' } }]
    const payload = JSON.stringify({ resourceType: 'Bundle', type, entry })
    return server.inject({ method: 'POST', url: '/', headers, payload })
  }
  const refused = await ask('transaction')
  assert.is(refused.statusCode, 400)
  assert.match(refused.json().issue[0].diagnostics, /inside a transaction/)
  assert.is((await ask('batch')).json().entry[0].resource.entry.length, 2)
})

test.run()
