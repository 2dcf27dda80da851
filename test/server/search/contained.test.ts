/** `_contained` and `_containedType`. https://hl7.org/fhir/R4/search.html#contained */
// npm test: sqlite and postgres, whose statements differ
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin, type Restriction } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { matching, onlyTypes } from '../../support/restrictions.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

let server: TestServer
let restrictions: readonly Restriction[] = []
const gate = definePlugin({
  name: 'gate',
  setup({ hooks }) {
    hooks.authorize.tap('restrict', (_request, _interaction, ruling) => {
      for (const one of restrictions) ruling.restrict(one)
    })
  },
})
const headers = { 'content-type': 'application/fhir+json' }
const send = async (method: 'PUT' | 'DELETE', url: string, payload?: string): Promise<void> => {
  const answer = await server.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) })
  assert.ok(answer.statusCode < 300, answer.body)
}
const put = (resource: Record<string, any>) =>
  send('PUT', `/${resource.resourceType}/${resource.id}`, JSON.stringify(resource))

const medication = (id: string, code: string, more: object = {}) => ({
  resourceType: 'Medication',
  id,
  code: { coding: [{ system: 'http://rx', code, display: `Drug ${code}` }] },
  ...more,
})
const request = (id: string, contained: readonly object[], patient = 'p1', more: object = {}) => ({
  resourceType: 'MedicationRequest',
  id,
  status: 'active',
  intent: 'order',
  subject: { reference: `Patient/${patient}` },
  medicationReference: { reference: '#m1' },
  ...(contained.length === 0 ? {} : { contained }),
  ...more,
})

test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), gate, ...fhirPlugins],
    settings: { conformance: { update_as_create: true } },
  })
  await put({ resourceType: 'Patient', id: 'p1', name: [{ family: 'One' }] })
  await put({ resourceType: 'Organization', id: 'maker', name: 'Maker' })
  await put(medication('whole-a', 'a'))
  await put(request('r1', [medication('m1', 'a', { manufacturer: { reference: 'Organization/maker' } })]))
  await put(request('r2', [medication('m1', 'b'), medication('m2', 'a', { status: 'active' })], 'p2'))
  await put(request('r3', [medication('m1', 'b', { status: 'active' }), { resourceType: 'Patient', id: 'p' }]))
  await put(request('r4', []))
  await send(
    'PUT',
    '/MedicationAdministration/adm',
    JSON.stringify({
      resourceType: 'MedicationAdministration',
      id: 'adm',
      status: 'completed',
      medicationReference: { reference: '#m' },
      subject: { reference: 'Patient/p1' },
      effectiveDateTime: '2024',
      contained: [medication('m', 'c', { batch: { lotNumber: 'x' } })],
    }).replace('"lotNumber":"x"', '"lotNumber":"x","extension":[{"url":"http://n","valueDecimal":1.50}]'),
  )
})
test.after(() => server.stop())

const get = async (url: string) => {
  const answer = await server.inject(url)
  assert.is(answer.statusCode, 200, `${url} ${answer.body.slice(0, 300)}`)
  return answer
}
const find = async (url: string): Promise<string> =>
  ((await get(url)).json().entry ?? [])
    .map((entry: any) => entry.fullUrl.slice('http://localhost:80/'.length))
    .sort()
    .join(' ')
const R = 'MedicationRequest'
const A = 'MedicationAdministration/adm'

test('contained resources are not searched unless asked for', async () => {
  assert.is(await find('/Medication?code=a'), 'Medication/whole-a')
  assert.is(await find('/Medication?code=a&_contained=false'), 'Medication/whole-a')
  assert.is(await find('/Medication'), 'Medication/whole-a')
  assert.is(await find('/Medication?code:text=drug'), 'Medication/whole-a')
  assert.is(await find('/?_type=Medication'), 'Medication/whole-a')
})

test('_contained=true finds contained resources only and shows what contains them', async () => {
  assert.is(await find('/Medication?code=a&_contained=true'), `${R}/r1 ${R}/r2`)
  assert.is(await find('/Medication?code=http://rx%7Cb&_contained=true'), `${R}/r2 ${R}/r3`)
  assert.is(await find('/Medication?code=c&_contained=true&_containedType=container'), A)
  assert.is(await find('/Medication?_contained=true'), `${A} ${R}/r1 ${R}/r2 ${R}/r3`)
  assert.is(await find('/Medication?code=z&_contained=true'), '')
})

test('_containedType=contained shows the contained resource, its numbers as they are', async () => {
  assert.is(await find('/Medication?code=a&_contained=true&_containedType=contained'), `${R}/r1#m1 ${R}/r2#m2`)
  const answer = await get('/Medication?code=c&_contained=true&_containedType=contained')
  assert.match(answer.body, '"valueDecimal":1.50')
  const { resource } = answer.json().entry[0]
  assert.is(resource.resourceType, 'Medication')
  assert.is(resource.contained, undefined)
  const short = await get('/Medication?code=c&_contained=true&_containedType=contained&_elements=code')
  assert.equal(Object.keys(short.json().entry[0].resource).sort(), ['code', 'id', 'meta', 'resourceType'])
})

test('_contained=both finds whole resources too', async () => {
  assert.is(await find('/Medication?code=a&_contained=both'), `Medication/whole-a ${R}/r1 ${R}/r2`)
  assert.is(
    await find('/Medication?code=a&_contained=both&_containedType=contained'),
    `Medication/whole-a ${R}/r1#m1 ${R}/r2#m2`,
  )
})

test('several parameters are met by one contained resource', async () => {
  assert.is(await find('/Medication?code=b&status=active&_contained=true'), `${R}/r3`)
  assert.is(await find('/Medication?code=a&status=active&_contained=true'), `${R}/r2`)
  assert.is(await find('/Medication?code=a&status:missing=true&_contained=true'), `${R}/r1`)
  assert.is(await find('/Medication?code:not=b&_contained=true'), `${A} ${R}/r1 ${R}/r2`)
  assert.is(await find('/Medication?code:text=drug%20b&_contained=true'), `${R}/r2 ${R}/r3`)
  assert.is(await find('/Medication?manufacturer.name=maker&_contained=true'), `${R}/r1`)
  assert.is(await find('/Medication?lot-number=x&_contained=true'), A)
})

test('pages and totals hold each match once', async () => {
  for (const [query, expected] of [
    ['_contained=true', 4],
    ['_contained=both', 5],
    ['_contained=true&_containedType=contained', 5],
    ['_contained=both&_containedType=contained', 6],
  ] as const) {
    const found: string[] = []
    let next: string | undefined = `/Medication?${query}&_count=2&_total=accurate`
    while (next !== undefined) {
      const bundle: any = (await get(next)).json()
      assert.is(bundle.total, expected, query)
      found.push(...bundle.entry.map((entry: any) => entry.fullUrl))
      const link = bundle.link.find((one: any) => one.relation === 'next')?.url
      next = link?.slice(link.indexOf('/', 8))
    }
    assert.is(found.length, expected, query)
    assert.is(new Set(found).size, expected, query)
    assert.is((await get(`/Medication?${query}&_summary=count`)).json().total, expected, query)
  }
})

test('an update and a deletion change what is found', async () => {
  await put(request('moving', [medication('m1', 'u')]))
  assert.is(await find('/Medication?code=u&_contained=true'), `${R}/moving`)
  await put(request('moving', [medication('m1', 'v'), medication('m2', 'u')]))
  assert.is(await find('/Medication?code=u&_contained=true&_containedType=contained'), `${R}/moving#m2`)
  assert.is(await find('/Medication?code=v&_contained=true&_containedType=contained'), `${R}/moving#m1`)
  await put(request('moving', [{ resourceType: 'Organization', id: 'm1', name: 'Now an organization' }]))
  assert.is(await find('/Medication?code=u,v&_contained=true'), '')
  assert.is(await find('/Organization?name=now&_contained=true'), `${R}/moving`)
  await send('DELETE', '/MedicationRequest/moving')
  assert.is(await find('/Organization?name=now&_contained=true'), '')
  assert.is(await find('/Organization?_contained=true'), '')
})

test('what a caller may not see contains nothing that is found or counted', async () => {
  const under = async (list: readonly Restriction[], url: string) => {
    restrictions = list
    try {
      const answer = await server.inject(`${url}&_total=accurate`)
      const { total } = answer.json()
      const found = (answer.json().entry ?? []).map((entry: any) => entry.fullUrl.split('/').at(-1)).sort()
      if (answer.statusCode === 200) assert.is(total, found.length)
      return `${answer.statusCode} ${found.join(' ')}`
    } finally {
      restrictions = []
    }
  }
  const url = '/Medication?code=a,b&_contained=true'
  assert.is(await under([], url), '200 r1 r2 r3')
  const open = onlyTypes('Medication', 'MedicationRequest')
  assert.is(await under([open], url), '200 r1 r2 r3')
  assert.is(await under([onlyTypes('Medication')], url), '200 ')
  const byPatient = matching('MedicationRequest', 'patient=p2')
  assert.is(await under([byPatient], url), '200 r2')
  assert.is(await under([open, byPatient], `${url}&_containedType=contained`), '200 r2#m1 r2#m2')
  assert.is((await under([onlyTypes('Patient')], url)).slice(0, 3), '403')
})

test('what contained resources cannot be asked is 400', async () => {
  for (const [url, said] of [
    ['/Medication?_contained=maybe', /true, false or both/],
    ['/Medication?_contained=true&_containedType=box', /container or contained/],
    ['/Medication?_contained=true&_id=m1', /contained resources/],
    ['/Medication?_contained=true&_has:MedicationRequest:medication:status=active', /contained resources/],
    ['/Medication?_contained=true&_sort=code', /sorted/],
    ['/Medication?_contained=true&foo=1', /foo/],
    ['/?_type=Medication&_contained=true', /by one type/],
    ['/Patient/p1/MedicationRequest?_contained=true', /no compartment/],
  ] as const) {
    const answer = await server.inject(url)
    assert.is(answer.statusCode, 400, url)
    assert.match(answer.json().issue[0].diagnostics, said, url)
  }
})

test.run()
