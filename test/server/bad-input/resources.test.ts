/** What a body says of itself: type, id, numbers. https://hl7.org/fhir/R4/resource.html, datatypes.html#decimal */
// database: sqlite, because what a body says of itself is read before anything is asked of the database
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { assertRefused, assertServes } from '../../support/refused.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'

let server: TestServer
test.before(async () => {
  server = await serverWith({ settings: { conformance: { update_as_create: true } } })
})
test.after(() => server.stop())

const headers = { 'content-type': 'application/fhir+json' }
const post = (url: string, payload: string) => server.inject({ method: 'POST', url, headers, payload })
const put = (url: string, payload: string) => server.inject({ method: 'PUT', url, headers, payload })

test('a resource of no type, of an unknown one or of another than the address is refused (row 17)', async () => {
  for (const [payload, code] of [
    ['{}', 'structure'],
    ['{"active":true}', 'structure'],
    ['{"resourceType":null}', 'structure'],
    ['{"resourceType":5}', 'structure'],
    ['{"resourceType":["Patient"]}', 'structure'],
    ['{"resourceType":{"a":1}}', 'structure'],
    ['{"resourceType":""}', 'structure'],
    ['{"resourceType":"patient"}', 'structure'],
    ['{"resourceType":"PATIENT"}', 'structure'],
    ['{"resourceType":"Patient "}', 'structure'],
    ['{"resourceType":"Foo"}', 'structure'],
    ['{"resourceType":"Resource"}', 'structure'],
    ['{"resourceType":"HumanName"}', 'structure'],
    ['{"resourceType":"Observation","status":"final","code":{"text":"x"}}', 'invalid'],
    [`{"resourceType":"${'F'.repeat(100_000)}"}`, 'structure'],
    ['[]', 'structure'],
    ['"Patient"', 'structure'],
    ['null', 'structure'],
    ['1', 'structure'],
    ['{"resourceType":"Patient","meta":[]}', 'structure'],
    ['{"resourceType":"Patient","meta":"x"}', 'structure'],
    ['{"resourceType":"Patient","meta":null}', 'structure'],
  ] as const)
    assertRefused(await post('/Patient', payload), { status: 400, code }, payload.slice(0, 80))
  for (const url of ['/patient', '/Foo', '/Resource', '/HumanName', '/Patient2', '/Patient%20', '/$x'])
    assertRefused(
      await post(url, '{"resourceType":"Patient"}'),
      { status: 404, code: ['not-supported', 'not-found'] },
      url,
    )
  await assertServes(server, 'row 17')
})

test('an update of a resource without the id of its address is refused (row 17)', async () => {
  for (const [payload, code] of [
    ['{"resourceType":"Patient"}', 'invalid'],
    ['{"resourceType":"Patient","id":"b"}', 'invalid'],
    ['{"resourceType":"Patient","id":"A"}', 'invalid'],
    ['{"resourceType":"Practitioner","id":"a"}', 'invalid'],
    ['{"id":"a"}', 'structure'],
  ] as const)
    assertRefused(await put('/Patient/a', payload), { status: 400, code }, payload)
  assert.is((await server.inject('/Patient/a')).statusCode, 404)
  await assertServes(server, 'row 17')
})

test('an id that is none is 400 in a body and 404 in an address (row 19)', async () => {
  const bad = [
    'a'.repeat(65),
    'a_b',
    'a/b',
    '..%2F',
    '.',
    '..',
    'é',
    '',
    ' ',
    'a b',
    'a\\n',
    'a:b',
    "a'b",
    '*',
    'a'.repeat(200_000),
  ]
  for (const id of bad) {
    const payload = `{"resourceType":"Patient","id":"${id}"}`
    const about = id.slice(0, 70)
    assertRefused(await put('/Patient/good', payload), { status: 400, code: 'value' }, about)
    assertRefused(await post('/Patient', payload), { status: 400, code: 'value' }, about)
  }
  for (const id of ['1', 'true', 'null', '[]', '["a"]', '{}', '{"value":"good"}'])
    assertRefused(
      await put('/Patient/good', `{"resourceType":"Patient","id":${id}}`),
      { status: 400, code: ['value', 'structure'] },
      id,
    )
  const gone = { status: 404, code: 'not-found' } as const
  for (const id of [
    'a'.repeat(65),
    'a_b',
    'a%2Fb',
    '%C3%A9',
    '%20',
    'a%20b',
    'a%0Ab',
    'a:b',
    '%27',
    '*',
    'a'.repeat(5_000),
  ]) {
    const about = id.slice(0, 70)
    const url = `/Patient/${id}`
    assertRefused(await server.inject(url), gone, about)
    assertRefused(await server.inject({ method: 'DELETE', url }), gone, about)
    assertRefused(await put(url, '{"resourceType":"Patient","id":"good"}'), gone, about)
    assertRefused(await server.inject(`${url}/_history`), gone, about)
    assertRefused(await server.inject(`${url}/_history/1`), gone, about)
  }
  // Inside an id dots are dots.
  for (const id of ['a', 'A-1.b', '...', '.a', '1', 'a'.repeat(64)])
    assert.is((await put(`/Patient/${id}`, `{"resourceType":"Patient","id":"${id}"}`)).statusCode, 201, id)
  await assertServes(server, 'row 19')
})

const DECIMALS = [
  '1.00',
  '0.010',
  '1E2',
  '1e+2',
  '-0.0',
  '0.0',
  '0.123456789012345678',
  '123456789012345678',
  '1.0E-10',
  '99999999999999999999.99',
  '-1.50',
  '0e0',
]

test('decimals come back with the digits they were sent with, in every form of an answer (row 22)', async () => {
  const values = DECIMALS.map((value) => `{"valueQuantity":{"value":${value}},"code":{"text":"x"}}`).join(',')
  const sent = `{"resourceType":"Observation","id":"d","status":"final","code":{"text":"x"},"valueQuantity":{"value":1.10},"component":[${values}]}`
  const created = await put('/Observation/d', sent)
  assert.is(created.statusCode, 201, created.body)
  await put('/Observation/d', sent.replace('final', 'amended'))
  const digits = (text: string): string[] =>
    [...text.matchAll(/"value":\s*([-+.\deE]+)/g)].map(([, value]) => value as string)
  for (const url of [
    '/Observation/d',
    '/Observation/d/_history/1',
    '/Observation/d?_pretty=true',
    '/Observation/d?_elements=component,value',
    '/Observation/d?_summary=data',
    '/Observation/d?_summary=true',
  ]) {
    const { body, statusCode } = await server.inject(url)
    assert.is(statusCode, 200, url)
    assert.equal(digits(body), ['1.10', ...DECIMALS], url)
  }
  const { body } = await server.inject('/Observation/d/_history')
  assert.equal(digits(body), ['1.10', ...DECIMALS, '1.10', ...DECIMALS])
  await assertServes(server, 'row 22')
})

test('a number that JavaScript would make Infinity is refused, not stored as null (row 23)', async () => {
  const observation = (value: string): string =>
    `{"resourceType":"Observation","status":"final","code":{"text":"x"},"valueQuantity":{"value":${value}}}`
  for (const value of [
    '1e400',
    '-1e400',
    '1E+309',
    `1${'0'.repeat(1_000)}`,
    `-${'9'.repeat(100_000)}`,
    '1e999999999999',
    '1.8e308',
  ])
    assertRefused(await post('/Observation', observation(value)), { status: 400, code: 'value' }, value.slice(0, 40))
  await assertServes(server, 'row 23')
})

test.run()
