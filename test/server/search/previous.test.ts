/** Pages of a search read backwards, by the link `previous`. https://hl7.org/fhir/R4/http.html#paging */
// npm test: sqlite and postgres, whose statements differ
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { careDefinitions } from '../../support/search-definitions.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'

type Json = Record<string, any>

let server: TestServer
const send = async (method: 'PUT' | 'DELETE', url: string, body?: Json): Promise<void> => {
  const payload = body === undefined ? {} : { payload: JSON.stringify(body) }
  const answer = await server.inject({ method, url, headers: { 'content-type': 'application/fhir+json' }, ...payload })
  assert.ok(answer.statusCode < 300, answer.body)
}
const put = (resource: Json): Promise<void> => send('PUT', `/${resource.resourceType}/${resource.id}`, resource)
const range = (count: number): readonly number[] => [...Array(count).keys()]

test.before(async () => {
  server = await serverWith({
    plugins: [database, careDefinitions(), ...fhirPlugins],
    settings: { conformance: { update_as_create: true } },
  })
  for (const n of range(11))
    await put({
      resourceType: 'Patient',
      id: `p${n}`,
      gender: n % 2 === 0 ? 'male' : 'female',
      // Some are alike, some have none.
      ...(n % 4 === 3 ? {} : { birthDate: `198${n % 3}-01-01`, name: [{ family: `Name${n % 5}` }] }),
    })
  for (const n of range(7))
    await put({
      resourceType: 'Observation',
      id: `o${n}`,
      status: n < 3 ? 'final' : 'amended',
      code: { coding: [{ code: `c${n % 2}` }] },
      contained: [{ resourceType: 'Practitioner', id: 'd', name: [{ family: 'House' }] }],
      performer: [{ reference: '#d' }],
      ...(n === 4 ? {} : { valueQuantity: { value: 10 - n } }),
    })
})
test.after(() => server.stop())

const get = async (url: string): Promise<Json> => {
  const answer = await server.inject(url.replace(/^https?:\/\/[^/]+/, ''))
  assert.is(answer.statusCode, 200, answer.body)
  return answer.json()
}
const linkOf = ({ link }: Json, wanted: string): string | undefined =>
  link.find(({ relation }: Json) => relation === wanted)?.url
const idsOf = ({ entry = [] }: Json): readonly string[] => entry.map(({ fullUrl }: Json) => fullUrl.split('/').at(-1))

/** All pages from one on, by the links of a relation. */
const follow = async (first: Json, relation: string): Promise<readonly Json[]> => {
  const pages = [first]
  for (let url = linkOf(first, relation); url !== undefined; ) {
    const page = await get(url)
    pages.push(page)
    url = linkOf(page, relation)
    assert.ok(pages.length < 50, 'the pages end')
  }
  return pages
}

for (const query of [
  'Patient?',
  'Patient?gender=male',
  'Patient?gender=male,female&birthdate=lt1990',
  'Patient?_sort=birthdate',
  'Patient?_sort=-birthdate',
  'Patient?_sort=family,-birthdate',
  'Patient?_sort=gender',
  'Patient?_sort=-_lastUpdated',
  'Patient?_sort=_id',
  'Observation?_sort=value-quantity',
  'Observation?_sort=-status,code',
  'Practitioner?_contained=true',
  'Practitioner?_contained=true&_containedType=contained',
  '?_type=Patient,Observation',
])
  for (const count of [1, 3, 4])
    test(`the pages of ${query} are the same backwards, ${count} at a time`, async () => {
      const onward = await follow(await get(`/${query}&_count=${count}`), 'next')
      assert.ok(onward.length > 1)
      assert.is(linkOf(onward[0] as Json, 'previous'), undefined)
      const back = await follow(onward.at(-1) as Json, 'previous')
      assert.equal(back.map(idsOf).toReversed(), onward.map(idsOf))
      assert.is(linkOf(back.at(-1) as Json, 'previous'), undefined)
      // And on again from there.
      assert.equal((await follow(back.at(-1) as Json, 'next')).map(idsOf), onward.map(idsOf))
    })

test('what was deleted is missing from a page read backwards, and what is new is on none', async () => {
  for (const n of range(6)) await put({ resourceType: 'Basic', id: `b${n}`, code: { text: 'x' } })
  const first = await get('/Basic?_count=2')
  const second = await get(linkOf(first, 'next') as string)
  assert.equal(
    [idsOf(first), idsOf(second)],
    [
      ['b5', 'b4'],
      ['b3', 'b2'],
    ],
  )
  await put({ resourceType: 'Basic', id: 'new', code: { text: 'x' } })
  for (const id of ['b4', 'b3']) await send('DELETE', `/Basic/${id}`)
  const back = await get(linkOf(second, 'previous') as string)
  assert.equal(idsOf(back), ['b5'])
  assert.is(linkOf(back, 'previous'), undefined)
  assert.equal(idsOf(await get(linkOf(back, 'next') as string)), ['b2', 'b1'])
})

test('a link belongs to its search and to its caller, backwards too', async () => {
  const second = await get(linkOf(await get('/Patient?_count=2'), 'next') as string)
  const link = (linkOf(second, 'previous') as string).replace(/^https?:\/\/[^/]+/, '')
  assert.is((await server.inject(link.replace('_count=2', '_count=3'))).statusCode, 400)
  // Not the last characters: some of their bits mean nothing.
  const at = link.length - 8
  const forged = `${link.slice(0, at)}${link[at] === 'A' ? 'B' : 'A'}${link.slice(at + 1)}`
  assert.is((await server.inject(forged)).statusCode, 400)
})

test.run()
