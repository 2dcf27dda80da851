/** `near` on positions. https://hl7.org/fhir/R4/location.html#search */
// npm test: sqlite and postgres, whose statements differ
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

// Degrees; the comments give kilometres.
const PLACES: Readonly<Record<string, readonly [number, number]>> = {
  berlin: [52.52, 13.405],
  potsdam: [52.4, 13.0667], // 26.5 from Berlin
  leipzig: [51.3397, 12.3731], // 149 from Berlin
  paris: [48.8566, 2.3522], // 878 from Berlin
  fiji: [-17.7134, 178.065],
  samoa: [-13.759, -172.1046], // 1138 from Fiji, across the date line
  meridian: [20, 180],
  east: [20, -179.99], // 1 from the meridian
  west: [20, 179.9999],
  pole: [90, 0],
  alert: [82.5018, -62.3481], // 834 from the pole
}
let server: TestServer
const headers = { 'content-type': 'application/fhir+json' }
test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), ...fhirPlugins],
    settings: { conformance: { update_as_create: true } },
  })
  const put = (id: string, more: object) =>
    server.inject({
      method: 'PUT',
      url: `/Location/${id}`,
      headers,
      payload: JSON.stringify({ resourceType: 'Location', id, name: id, ...more }),
    })
  for (const [id, [latitude, longitude]] of Object.entries(PLACES))
    assert.is((await put(id, { position: { latitude, longitude } })).statusCode, 201)
  await put('nowhere', {})
  await put('half', { position: { latitude: 52.52 } })
})
test.after(() => server.stop())

const find = async (query: string): Promise<string> => {
  const answer = await server.inject(`/Location?${query}`)
  assert.is(answer.statusCode, 200, `${query} ${answer.body.slice(0, 300)}`)
  return (answer.json().entry ?? [])
    .map((entry: any) => entry.resource.id)
    .sort()
    .join(' ')
}
const CASES: readonly (readonly [string, string])[] = [
  ['near=52.52|13.405|0', 'berlin'],
  ['near=20|180|5|km', 'east meridian west'],
  ['near=20|-180|5|km', 'east meridian west'],
  ['near=20|179.9999|5|km', 'east meridian west'],
  ['near=52.52|13.405|26|km', 'berlin'],
  ['near=52.52|13.405|27|km', 'berlin potsdam'],
  ['near=52.52|13.405|27', 'berlin potsdam'],
  ['near=52.52|13.405|2.7e1|km', 'berlin potsdam'],
  ['near=52.52|13.405|2600000000e-5|m', 'berlin'],
  ['near=52.52|13.405', 'berlin potsdam'],
  ['near=52.52|13.405|26000|m', 'berlin'],
  ['near=52.52|13.405|27000|m', 'berlin potsdam'],
  ['near=52.52|13.405|16.3|[mi_i]', 'berlin'],
  ['near=52.52|13.405|16.8|mi', 'berlin potsdam'],
  ['near=52.52|13.405|145|km', 'berlin potsdam'],
  ['near=52.52|13.405|152|km', 'berlin leipzig potsdam'],
  ['near=52.52|13.405|870|km', 'berlin leipzig potsdam'],
  ['near=52.52|13.405|885|km', 'berlin leipzig paris potsdam'],
  ['near=52.52|13.405|478|[nmi_i]', 'berlin leipzig paris potsdam'],
  // Across the date line, both ways, and over a pole.
  ['near=-17.7134|178.065|1100|km', 'fiji'],
  ['near=-17.7134|178.065|1180|km', 'fiji samoa'],
  ['near=-13.759|-172.1046|1180|km', 'fiji samoa'],
  ['near=89.9|179|900|km', 'alert pole'],
  ['near=82.5018|-62.3481|840|km', 'alert pole'],
  ['near=0|0|20100|km', 'alert berlin east fiji leipzig meridian paris pole potsdam samoa west'],
  // Several at once, with other parameters, in chains.
  ['near=52.52|13.405|1,90|0|1', 'berlin pole'],
  ['near=52.52|13.405|27&name=pots', 'potsdam'],
  ['near:missing=true', 'half nowhere'],
]
for (const [query, expected] of CASES)
  test(`${query} finds what lies within the distance`, async () => {
    assert.is(await find(query.replaceAll('|', '%7C').replaceAll('[', '%5B').replaceAll(']', '%5D')), expected)
  })

test('a chain passes through a place', async () => {
  await server.inject({
    method: 'PUT',
    url: '/PractitionerRole/r',
    headers,
    payload: JSON.stringify({ resourceType: 'PractitionerRole', id: 'r', location: [{ reference: 'Location/paris' }] }),
  })
  const near = async (km: number) =>
    (await server.inject(`/PractitionerRole?location.near=52.52%7C13.405%7C${km}`)).json().entry?.length ?? 0
  assert.is(await near(885), 1)
  assert.is(await near(870), 0)
})

test('an update moves a place', async () => {
  const move = (latitude: number) =>
    server.inject({
      method: 'PUT',
      url: '/Location/moving',
      headers,
      payload: JSON.stringify({ resourceType: 'Location', id: 'moving', position: { latitude, longitude: 0 } }),
    })
  await move(10)
  assert.is(await find('near=10%7C0%7C1'), 'moving')
  await move(20)
  assert.is(await find('near=10%7C0%7C1'), '')
  assert.is(await find('near=20%7C0%7C1'), 'moving')
})

test('a value that is no place or distance is 400 and says what is wrong', async () => {
  for (const [value, said] of [
    ['1', /latitude\|longitude/],
    ['a|b', /latitude\|longitude/],
    ['1|2|3|km|5', /latitude\|longitude/],
    ['91|0|1', /-90 to 90/],
    ['0|181|1', /-180 to 180/],
    ['0|0|-1', /0 or more/],
    ['0|0|x', /0 or more/],
    ['0|0|1|parsec', /units km, m/],
    ['0|0|1|constructor', /units km, m/],
    ['0|0|1|toString', /units km, m/],
    ['0|0|1|__proto__', /units km, m/],
  ] as const) {
    const answer = await server.inject(`/Location?near=${encodeURIComponent(value)}`)
    assert.is(answer.statusCode, 400, value)
    assert.match(answer.json().issue[0].diagnostics, said, value)
  }
})

test.run()
