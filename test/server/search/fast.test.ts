/**
 * A search of a usual shape takes a short way. It finds what the long way finds, which a form always takes: each address
 * is asked both ways, through all pages.
 */
// npm test: sqlite and postgres, whose statements differ
// memory: reads wait there while a transaction is open
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createDice } from '../../bench/corpus/random.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { postTransaction } from '../../support/post-bundle.ts'
import { careDefinitions } from '../../support/search-definitions.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { watchedDatabase } from '../../support/watched-database.ts'

const LOINC = 'http://loinc.org'
const MANY = 520 // more than the short way goes through

let server: TestServer
let base: string
const { plugin: database, watch } = watchedDatabase()

const put = async (...resources: readonly Record<string, any>[]): Promise<void> => {
  const entry = resources.map((resource) => {
    const url = `${resource.resourceType}/${resource.id}`
    return { resource, request: { method: 'PUT', url } }
  })
  await postTransaction(server, entry)
}
const observation = (id: string, subject: string, more: object = {}): Record<string, any> => ({
  resourceType: 'Observation',
  id,
  status: 'final',
  code: { coding: [{ system: LOINC, code: 'a' }] },
  subject: { reference: subject },
  ...more,
})
const coded = (...codings: readonly (readonly [string | undefined, string])[]): object => ({
  code: { coding: codings.map(([system, code]) => ({ ...(system === undefined ? {} : { system }), code })) },
})
const named = (id: string, ...families: readonly string[]) => ({
  resourceType: 'Patient',
  id,
  name: families.map((family) => ({ family })),
})

test.before(async () => {
  server = await serverWith({
    plugins: [database, careDefinitions(), ...fhirPlugins],
    settings: { conformance: { update_as_create: true }, fhir: { max_page_size: 1000, full_text: 'none' } },
  })
  const first = await server.inject({ method: 'GET', url: '/Patient?name=nobody' })
  base = first.json().link[0].url.split('/Patient')[0]
  await put(
    ...['p1', 'p2', 'p3'].map((id) => named(id, `Fam${id}`, 'Familiar', 'Fämous')),
    named('p4', 'O\u2019Neil-Smith', 'Van der Berg'),
    { resourceType: 'Group', id: 'g1', type: 'person', actual: true },
    {
      resourceType: 'Encounter',
      id: 'e1',
      status: 'finished',
      class: { code: 'AMB' },
      subject: { reference: 'Patient/p1' },
    },
  )
  const dice = createDice(11)
  const random = Array.from({ length: 60 }, (_, at) =>
    observation(`r${at}`, dice.pick(['Patient/p1', 'Patient/p2', `${base}/Patient/p2`, 'Group/g1']), {
      status: dice.pick(['final', 'amended']),
      ...coded(
        [dice.pick([LOINC, 'http://other', undefined]), dice.pick(['a', 'b', 'c'])],
        [LOINC, dice.pick(['a', 'd'])],
      ),
      ...(dice.below(2) === 0 ? { encounter: { reference: 'Encounter/e1' } } : {}),
      category: [{ coding: [{ system: 'http://c', code: dice.pick(['x', 'y']) }] }],
    }),
  )
  await put(...random)
  await put(
    ...Array.from({ length: MANY }, (_, at) =>
      observation(`m${at}`, 'Patient/p3', {
        status: at < 3 ? 'amended' : 'final',
        category: [{ coding: [{ system: 'http://c', code: at % 100 === 0 ? 'x' : 'y' }] }],
      }),
    ),
    ...Array.from({ length: MANY }, (_, at) => named(`n${at}`, `Crowd${at}`, `Crowd of ${at}`)),
  )
})
test.after(() => server.stop())

const pageOf = async (path: string, form?: string): Promise<any> => {
  const [url = '', query = ''] = path.split('?')
  const answer = await server.inject(
    form === undefined
      ? { method: 'GET', url: path }
      : {
          method: 'POST',
          url: `${url}/_search`,
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          payload: query,
        },
  )
  const body = answer.json()
  if (answer.statusCode !== 200) return { status: answer.statusCode, issue: body.issue }
  const { link, entry = [] } = body
  return { link, entry, type: body.type, keys: Object.keys(body) }
}

const strip = (links: readonly { url: string }[]): readonly string[] =>
  links.map(({ url }) => url.replace(/_page=.*/, '_page='))

/** Entries and links of all pages, both ways. */
const same = async (path: string): Promise<readonly string[]> => {
  let short = await pageOf(path)
  let long = await pageOf(path, 'form')
  const found: string[] = []
  for (;;) {
    if (short.link === undefined || long.link === undefined) {
      assert.equal(short, long, path)
      assert.equal(found, [], 'only the first page may be refused')
      return found
    }
    assert.equal(short.entry, long.entry, path)
    assert.equal(short.keys, long.keys, path)
    assert.equal(strip(short.link), strip(long.link), path)
    found.push(...short.entry.map((one: any) => one.resource.id))
    const next = (body: any): string | undefined =>
      body.link.find((one: any) => one.relation === 'next')?.url.slice(base.length)
    const [one, other] = [next(short), next(long)]
    if (one === undefined || other === undefined) return found
    short = await pageOf(one)
    long = await pageOf(other)
  }
}

const encode = (pairs: Readonly<Record<string, string>>): string => new URLSearchParams(pairs).toString()

test('finds by a patient and a code what the long way finds', async () => {
  for (const patient of ['Patient/p1', 'p2', `${base}/Patient/p1`, 'Patient/none', 'Group/g1', 'Patient/p3'])
    for (const code of [`${LOINC}|a`, `${LOINC}|d`, 'http://other|b', '|c', 'a', `${LOINC}|`, 'a,b', `${LOINC}|none`])
      for (const subject of ['patient', 'subject']) await same(`/Observation?${encode({ [subject]: patient, code })}`)
  assert.ok((await same(`/Observation?${encode({ patient: 'p1', code: `${LOINC}|d` })}`)).length > 3)
})

test('finds references, tokens and names what the long way finds', async () => {
  const some: readonly Readonly<Record<string, string>>[] = [
    { patient: 'Patient/p1' },
    { patient: 'Patient/p2', status: 'amended' },
    { patient: 'Patient/p2', status: 'http://hl7.org/fhir/observation-status|amended' },
    { patient: 'Patient/p1', encounter: 'Encounter/e1', code: `${LOINC}|a`, status: 'final', category: 'http://c|x' },
    { encounter: 'e1', code: `${LOINC}|a` },
    { status: 'final', category: 'http://c|x' },
    { 'combo-code': `${LOINC}|a`, subject: 'Patient/p1' },
  ]
  /** These find more than five hundred. */
  const many: readonly Readonly<Record<string, string>>[] = [
    { status: 'final' },
    { code: `${LOINC}|a` },
    { 'combo-code': `${LOINC}|a` },
  ]
  for (const [list, counts] of [
    [some, ['1', '7', '0', 'x']],
    [many, ['97', '0', 'x']],
  ] as const)
    for (const pairs of list)
      for (const more of [{}, ...counts.map((_count) => ({ _count }))])
        await same(`/Observation?${encode({ ...pairs, ...more })}`)
  for (const name of [
    'fam',
    'FAMP1',
    'Fäm',
    "o'neil",
    'O\u2019Neil',
    'van der',
    'van  der',
    'berg',
    'none',
    ' ',
    'a\\,b',
    'fam,van',
  ])
    for (const key of ['name', 'family']) await same(`/Patient?${encode({ [key]: name, _count: '2' })}`)
  for (const path of [
    '/Patient?name=Van+der',
    '/Patient?name=Van%20der',
    '/Patient?name=F%C3%A4m',
    '/Patient?name=%ff',
    '/Patient?name=',
    '/Patient?name=a&&',
    '/Patient?name',
    '/Patient?nome=a',
    '/Patient?name=fam&name=famp1',
    '/Patient?name=fam&_count=1&_count=2',
    '/Patient?name=fam&_summary=count',
    '/Patient?name=a%00',
  ])
    await same(path)
})

test('finds all of what there is more of than it goes through', async () => {
  assert.is((await same('/Observation?patient=Patient/p3&status=amended')).length, 3)
  assert.is((await same('/Observation?patient=Patient/p3&category=http://c|x&_count=2')).length, 6)
  assert.is((await same('/Observation?patient=Patient/p3&status=final&_count=200')).length, MANY - 3)
  assert.is((await same('/Patient?name=crowd&_count=300')).length, MANY)
  assert.is((await same('/Patient?name=crowd5')).length, 31)
})

test('finds what was written just before, and nothing that was changed or deleted', async () => {
  const path = '/Observation?patient=Patient/p1&code=http://loinc.org|fresh'
  assert.equal(await same(path), [])
  await put(observation('fresh', 'Patient/p1', coded([LOINC, 'fresh'])))
  assert.equal(await same(path), ['fresh'])
  assert.equal(await same(path), ['fresh'])
  await put(observation('fresh', 'Patient/p1', { ...coded([LOINC, 'fresh']), status: 'amended' }))
  const { entry } = await pageOf(path)
  assert.is(entry[0].resource.meta.versionId, '2')
  assert.is(entry[0].resource.status, 'amended')
  await put(observation('fresh', 'Patient/p2', coded([LOINC, 'fresh'])))
  assert.equal(await same(path), [])
  assert.equal(await same(path.replace('p1', 'p2')), ['fresh'])
  await put(observation('fresh', 'Patient/p2', coded([LOINC, 'stale'])))
  assert.equal(await same(path.replace('p1', 'p2')), [])
  await put(observation('fresh', 'Patient/p1', coded([LOINC, 'fresh'])))
  await server.inject({ method: 'DELETE', url: '/Observation/fresh' })
  assert.equal(await same(path), [])
})

test('asks the database no more than it has to', async () => {
  const path = `/Observation?${encode({ patient: 'Patient/p3', code: `${LOINC}|a` })}`
  for (let n = 0; n < 3; n += 1) await pageOf(path)
  const before = watch.asked
  await pageOf(path)
  assert.is(watch.asked - before, 0)
})

test('refuses what the client does not take', async () => {
  const answer = await server.inject({
    method: 'GET',
    url: '/Patient?name=fam',
    headers: { accept: 'application/fhir+turtle' },
  })
  assert.is(answer.statusCode, 406)
})

test.run()
