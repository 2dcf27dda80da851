/** `_sort` by every type of parameter, in both directions, over pages. https://hl7.org/fhir/R4/search.html#sort */
// npm test: sqlite and postgres, whose statements differ
// memory: long reads have no thread of their own there
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { careDefinitions } from '../../support/search-definitions.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'

let server: TestServer
const headers = { 'content-type': 'application/fhir+json' }
const put = async (resource: Record<string, any>): Promise<void> => {
  const url = `/${resource.resourceType}/${resource.id}`
  const answer = await server.inject({ method: 'PUT', url, headers, payload: JSON.stringify(resource) })
  assert.ok(answer.statusCode < 300, answer.body)
}
const STATUSES = ['final', 'amended', 'registered', 'cancelled']
const observation = (at: number, more: object = {}) =>
  put({
    resourceType: 'Observation',
    id: `o${String(at).padStart(2, '0')}`,
    status: STATUSES[at % 4],
    code: at % 5 === 0 ? { text: 'no code at all' } : { coding: [{ system: `http://s${at % 2}`, code: `c${at % 7}` }] },
    ...(at % 6 === 0 ? {} : { subject: { reference: `${at % 3 === 0 ? 'Group' : 'Patient'}/${(at * 7) % 10}` } }),
    effectiveDateTime: `2024-01-${String(1 + (at % 3)).padStart(2, '0')}`,
    valueQuantity: { value: (at * 13) % 8 },
    ...more,
  })

test.before(async () => {
  server = await serverWith({
    plugins: [database, careDefinitions(), ...fhirPlugins],
    settings: { conformance: { update_as_create: true } },
  })
  for (let at = 1; at <= 24; at += 1) await observation(at)
})
test.after(() => server.stop())

type Resource = Record<string, any>
const page = async (url: string): Promise<{ resources: Resource[]; next: string | undefined }> => {
  const answer = await server.inject(url)
  assert.is(answer.statusCode, 200, `${url} ${answer.body.slice(0, 300)}`)
  const bundle = answer.json()
  const link = bundle.link.find((one: any) => one.relation === 'next')?.url as string | undefined
  const resources = (bundle.entry ?? []).map((entry: any) => entry.resource)
  return { resources, next: link?.slice(link.indexOf('/', 8)) }
}
const walk = async (url: string, between = async () => {}): Promise<Resource[]> => {
  const found: Resource[] = []
  for (let next: string | undefined = url; next !== undefined; ) {
    const { resources, next: after } = await page(next)
    found.push(...resources)
    next = after
    await between()
  }
  return found
}

/** What a resource is sorted by, told from the resource alone; undefined when it has no value. */
const KEYS: Record<string, (one: Resource) => string | number | undefined> = {
  status: ({ status }) => status,
  code: ({ code }) => code.coding?.[0].code ?? code.text,
  subject: ({ subject }) => subject?.reference,
  patient: ({ subject }) => (subject?.reference.startsWith('Patient/') ? subject.reference : undefined),
  date: ({ effectiveDateTime }) => effectiveDateTime,
  'value-quantity': ({ valueQuantity }) => valueQuantity.value,
  _id: ({ id }) => id,
}

/** The order told by the keys, missing last, then newest first. `all` is newest first. */
const inOrder = (all: readonly Resource[], sort: string): string[] =>
  all
    .map((one, at) => ({ one, at }))
    .sort((a, b) => {
      for (const given of sort.split(',')) {
        const descending = given.startsWith('-')
        const key = KEYS[descending ? given.slice(1) : given]!
        const [x, y] = [key(a.one), key(b.one)]
        if (x === y) continue
        if (x === undefined || y === undefined) return x === undefined ? 1 : -1
        return x < y === descending ? 1 : -1
      }
      return a.at - b.at
    })
    .map(({ one }) => one.id)

const SORTS = [
  ...['status', 'code', 'subject', 'patient', 'date', 'value-quantity', '_id'].flatMap((one) => [one, `-${one}`]),
  'status,subject',
  '-status,date',
  '-date,status',
  'date,-code,subject',
  'patient,value-quantity',
]
for (const sort of SORTS)
  test(`_sort=${sort} is the order of the values, those without one last, page after page`, async () => {
    const all = await walk('/Observation?_count=100')
    const expected = inOrder(all, sort)
    assert.equal(
      (await walk(`/Observation?_sort=${sort}&_count=100`)).map(({ id }) => id),
      expected,
    )
    assert.equal(
      (await walk(`/Observation?_sort=${sort}&_count=5`)).map(({ id }) => id),
      expected,
    )
    const some = all.filter(({ status }) => status === 'final')
    assert.equal(
      (await walk(`/Observation?status=final&_sort=${sort}&_count=2`)).map(({ id }) => id),
      inOrder(some, sort),
    )
  })

test('pages sorted by a code neither repeat nor lose what was there while others write', async () => {
  let made = 100
  for (const sort of ['status', '-subject', 'code,-date']) {
    const before = (await walk(`/Observation?_sort=${sort}&_count=100`)).map(({ id }) => id)
    const first = made + 1
    const found = await walk(`/Observation?_sort=${sort}&_count=4`, async () => {
      made += 1
      await observation(made)
      // The same values again: a new version of what is sorted already.
      await observation(1, { note: [{ text: `${made}` }] })
    })
    assert.equal(
      found.map(({ id }) => id),
      before,
      sort,
    )
    for (let at = first; at <= made; at += 1) await server.inject({ method: 'DELETE', url: `/Observation/o${at}` })
  }
})

test('of several codes the least counts ascending, the greatest descending', async () => {
  for (const [id, ...codes] of [
    ['ad', 'a', 'd'],
    ['b', 'b'],
    ['c', 'c'],
  ] as const)
    await put({ resourceType: 'Location', id, type: codes.map((code) => ({ coding: [{ code }] })) })
  const ids = async (sort: string) => (await walk(`/Location?_sort=${sort}&_count=1`)).map(({ id }) => id)
  assert.equal(await ids('type'), ['ad', 'b', 'c'])
  assert.equal(await ids('-type'), ['ad', 'c', 'b'])
  assert.equal(await ids('identifier'), ['c', 'b', 'ad'], 'nobody has one: newest first')
})

test('tags, profiles and identifiers are sorted by, composites are not', async () => {
  for (const [id, tag, value] of [
    ['x', 'm', '3'],
    ['y', 'k', '1'],
    ['z', 'l', '2'],
  ])
    await put({
      resourceType: 'Patient',
      id,
      meta: { tag: [{ system: 'http://t', code: tag }], profile: [`http://p/${tag}`] },
      identifier: [{ system: 'urn:a', value }],
    })
  const ids = async (sort: string) => (await walk(`/Patient?_sort=${sort}&_count=1`)).map(({ id }) => id).join('')
  for (const key of ['_tag', '_profile', 'identifier']) {
    assert.is(await ids(key), 'yzx', key)
    assert.is(await ids(`-${key}`), 'xzy', key)
  }
  const refused = await server.inject('/Observation?_sort=code-value-quantity')
  assert.is(refused.statusCode, 400)
  assert.match(refused.json().issue[0].diagnostics, /code-value-quantity.*composite.*no order/)
})

test('the value that a resource is sorted by is read from its own rows, whatever the type of the parameter', async () => {
  if (chosenKind.name === 'postgres') return // test/plugins/search/plan/postgres-plans.test.ts
  const sorts = [
    'Observation?_sort=date',
    'Observation?_sort=value-quantity',
    'Patient?_sort=family',
    'Patient?_sort=name',
  ]
  for (const sort of [...sorts, 'Patient?_sort=birthdate', 'ValueSet?_sort=url', 'RiskAssessment?_sort=probability']) {
    const { issue } = (await page(`/${sort}&_explain=true`)).resources.at(-1) as Resource
    const plan: string = issue.map(({ diagnostics }: any) => diagnostics).join('\n')
    const found = plan.split('\n').filter((line) => /SEARCH x /.test(line))
    assert.ok(found.length > 0, plan)
    for (const line of found) assert.match(line, /rid=\?/, sort)
  }
})

for (const sort of ['value-quantity', '-value-quantity'])
  test(`${sort}: what is below or above a number has a place among numbers, what has none comes last, whatever a page holds`, async () => {
    const open = [{ value: 7 }, { value: 5 }, { value: 5, comparator: '<' }, { value: 5, comparator: '>' }]
    const more = [
      { value: 1, comparator: '<' },
      { value: 9, comparator: '>=' },
      {},
      {},
      { value: 1.7976931348623157e308 },
    ]
    const quantities = [...open, ...more, { value: -1.7976931348623157e308 }]
    for (const [at, valueQuantity] of quantities.entries())
      await observation(50 + at, { status: 'unknown', valueQuantity })
    const url = `/Observation?status=unknown&_sort=${sort}`
    const idsOf = (found: Resource[]): string[] => found.map(({ id }) => id)
    const whole = idsOf(await walk(`${url}&_count=100`))
    assert.is(whole.length, quantities.length)
    assert.equal(whole.slice(-2), ['o57', 'o56'], 'those without a value, the newest first')
    for (const count of [1, 2, 3, 4, 7]) assert.equal(idsOf(await walk(`${url}&_count=${count}`)), whole, `${count}`)
    for (const at of quantities.keys()) await server.inject({ method: 'DELETE', url: `/Observation/o${50 + at}` })
  })

test.run()
