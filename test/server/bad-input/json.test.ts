/** Bodies that are no JSON, or JSON that other programs would read differently. RFC 8259, RFC 7493. */
// database: sqlite, because what is refused or cut does not reach the database
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { assertQuick, cpuTime } from '../../support/cpu-time.ts'
import { assertRefused, assertServes, type Expected } from '../../support/refused.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'

const STRUCTURE: Expected = { status: 400, code: 'structure' }
const VALUE: Expected = { status: 400, code: 'value' }
const MEGA = 1024 * 1024
const MOST = 16 * MEGA // bytes of a body
const SLOW_MS = 3_000 // of CPU: a third of a second is usual; quadratic work takes minutes

let server: TestServer
test.before(async () => {
  server = await serverWith({ settings: { fhir: { max_body_bytes: MOST } } })
})
test.after(() => server.stop())

const send = (payload: string | Buffer, contentType = 'application/fhir+json') =>
  server.inject({ method: 'POST', url: '/Patient', headers: { 'content-type': contentType }, payload })
const refused = async (payload: string | Buffer, expected: Expected, about = payload.toString().slice(0, 80)) => {
  const started = cpuTime()
  const diagnostics = assertRefused(await send(payload), expected, about)
  assertQuick(cpuTime() - started, SLOW_MS, about)
  return diagnostics
}
const patient = (member: string): string => `{"resourceType":"Patient",${member}}`
/** Latin1 text as the bytes it stands for. */
const bytes = (text: string): Buffer => Buffer.from(text, 'latin1')

test('an empty or truncated body is refused with the place where it ends (row 1)', async () => {
  assert.match(await refused('', STRUCTURE, 'empty'), /empty/)
  assert.match(await refused(' \r\n\t', STRUCTURE, 'blank'), /empty/)
  const whole = patient('"name":[{"family":"A\\u00e9"}],"active":true,"multipleBirthInteger":-1.5e3')
  for (let length = 1; length < whole.length; length += 1)
    assert.match(await refused(whole.slice(0, length), STRUCTURE), /ends too early/)
  assert.is((await send(whole)).statusCode, 201)
  await assertServes(server, 'row 1')
})

test('what JavaScript takes and JSON does not is refused with its line and column (row 2)', async () => {
  for (const [payload, place] of [
    [patient('"active":true,'), /line 1, column 41/],
    [`${patient('"active":true')}x`, /line 1, column 41/],
    [`${patient('"active":true')}\n\n{}`, /line 3, column 1/],
    [patient('"active":true/*c*/'), /column 40/],
    [`// c\n${patient('"active":true')}`, /line 1, column 1/],
    [patient('"multipleBirthInteger":NaN'), /column 50/],
    [patient('"multipleBirthInteger":Infinity'), /column 50/],
    [patient('"multipleBirthInteger":-Infinity'), /column 51/],
    [patient('"multipleBirthInteger":01'), /column 51/],
    [patient('"multipleBirthInteger":+1'), /column 50/],
    [patient('"multipleBirthInteger":1.'), /column 52/],
    [patient('"multipleBirthInteger":1.e3'), /column 52/],
    [patient('"multipleBirthInteger":1e+'), /column 53/],
    [patient('"multipleBirthInteger":.5'), /column 50/],
    [patient('"multipleBirthInteger":0x1F'), /column 51/],
    [patient("'active':true"), /column 27/],
    [patient('active:true'), /column 27/],
    [patient('"active":tru'), /column 39/],
    [patient('"active":undefined'), /column 36/],
    [patient('"name":[{},]'), /column 38/],
    [patient('"language":"\\x41"'), /column 40/],
    [patient('"language":"\\u00g0"'), /column 43/],
  ] as const)
    assert.match(await refused(payload, STRUCTURE), place, payload)
  await assertServes(server, 'row 2')
})

test('a byte order mark is dropped, two are not (row 4)', async () => {
  const sent = patient('"active":true')
  const answer = await send(bytes(`\xef\xbb\xbf${sent}`))
  assert.is(answer.statusCode, 201)
  assert.is(answer.rawPayload[0], 0x7b)
  await refused(bytes(`\xef\xbb\xbf\xef\xbb\xbf${sent}`), STRUCTURE)
  await refused(bytes('\xef\xbb\xbf'), STRUCTURE)
  await assertServes(server, 'row 4')
})

test('another charset is refused by its name, and its bytes without the name too (row 5)', async () => {
  const sent = patient('"active":true')
  const unsupported: Expected = { status: 415, code: 'not-supported' }
  for (const charset of ['utf-16', 'UTF-16LE', '"utf-16"', 'iso-8859-1', 'latin1', 'windows-1252', 'us-ascii', 'x'])
    for (const type of ['application/fhir+json', 'application/json'])
      assertRefused(await send(sent, `${type}; charset=${charset}`), unsupported, charset)
  for (const charset of ['utf-8', 'UTF-8', '"utf-8"', 'utf8'])
    assert.is((await send(sent, `application/fhir+json;charset=${charset}`)).statusCode, 201, charset)
  const little = Buffer.from(sent, 'utf16le')
  await refused(little, STRUCTURE, 'UTF-16 little endian')
  await refused(Buffer.concat([bytes('\xff\xfe'), little]), STRUCTURE, 'with a mark')
  await refused(Buffer.from(little).swap16(), STRUCTURE, 'UTF-16 big endian')
  await refused(Buffer.concat([bytes('\xfe\xff'), Buffer.from(little).swap16()]), STRUCTURE, 'with a mark')
  await refused(bytes(patient('"language":"\xe9"')), STRUCTURE, 'latin1')
  await assertServes(server, 'row 5')
})

test('bytes that are no UTF-8 are refused, not replaced (row 6)', async () => {
  for (const sequence of [
    '\xc0\xaf',
    '\xc1\xbf',
    '\xe0\x80\xaf',
    '\xf0\x80\x80\xaf',
    '\xed\xa0\x80',
    '\xed\xb0\x80',
    '\xed\xa0\xbd\xed\xb8\x80',
    '\xf4\x90\x80\x80',
    '\xf8\x88\x80\x80\x80',
    '\x80',
    '\xc3',
    '\xe2\x82',
    '\xf0\x9f\x98',
    '\xfe',
    '\xff',
  ]) {
    assert.match(await refused(bytes(patient(`"language":"${sequence}"`)), STRUCTURE), /UTF-8/)
    await refused(bytes(patient(`"${sequence}":"x"`)), STRUCTURE)
  }
  const right = bytes(patient('"name":[{"family":"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbd"}]'))
  const stored = await send(right)
  assert.is(stored.statusCode, 201)
  assert.is(stored.json().name[0].family, 'é€😀\ufffd')
  await assertServes(server, 'row 6')
})

test('a raw control character in a string is refused, escaped ones that are text are kept (row 7)', async () => {
  for (let code = 0; code < 32; code += 1) {
    const raw = String.fromCharCode(code)
    await refused(patient(`"language":"a${raw}b"`), STRUCTURE, `U+${code.toString(16)}`)
    await refused(patient(`"a${raw}b":"x"`), STRUCTURE, `U+${code.toString(16)} in a name`)
  }
  const stored = await send(
    patient('"text":{"status":"generated","div":"<div xmlns=\\"http://www.w3.org/1999/xhtml\\">a\\tb\\r\\nc</div>"}'),
  )
  assert.is(stored.statusCode, 201, stored.body)
  assert.ok(stored.body.includes('a\\tb\\r\\nc'))
  await assertServes(server, 'row 7')
})

test('NUL is refused wherever a string can be: in values, names, ids, addresses and queries (row 8)', async () => {
  await refused(patient('"language":"a\\u0000b"'), VALUE)
  await refused(patient('"name":[{"given":["\\u0000"]}]'), VALUE)
  await refused(patient('"a\\u0000":"x"'), VALUE)
  await refused(patient('"id":"a\\u0000"'), VALUE)
  await refused(patient('"meta":{"tag":[{"code":"\\u0000"}]}'), VALUE)
  await refused('{"resourceType":"Patient\\u0000"}', VALUE)
  const notFound: Expected = { status: [400, 404], code: ['not-found', 'value'] }
  for (const url of ['/Patient/%00', '/Patient/a%00', '/%00', '/Patient%00/a', '/Patient/a/_history/%00'])
    assertRefused(await server.inject(url), notFound, url)
  for (const query of ['_elements=%00', '_format=json%00', '_summary=%00', '%00=1', '_pretty=%00'])
    assertRefused(
      await server.inject(`/Patient/a?${query}`),
      { status: [400, 406], code: ['value', 'not-supported'] },
      query,
    )
  await assertServes(server, 'row 8')
})

test('half of a surrogate pair is refused in values, names, ids and queries (row 9)', async () => {
  for (const half of ['\\ud800', '\\udfff', '\\ud800\\ud800', '\\udc00\\ud800', 'a\\ud83dx', '\\uD83D'])
    for (const member of [`"language":"${half}"`, `"${half}":1`, `"id":"${half}"`, `"name":[{"given":["${half}"]}]`])
      await refused(patient(member), VALUE, member)
  assert.is((await send(patient('"name":[{"family":"\\ud83d\\ude00"}]'))).statusCode, 201)
  for (const url of ['/Patient/%ED%A0%80', '/Patient/a?_elements=%ED%A0%80', '/Patient/_history?_since=%ED%B0%80'])
    assertRefused(await server.inject(url), { status: 400, code: 'value' }, url)
  await assertServes(server, 'row 9')
})

test('a name that stands twice in one object is refused and told, however it is spelled (row 10)', async () => {
  for (const [payload, name] of [
    [patient('"active":true,"active":false'), 'active'],
    ['{"resourceType":"Patient","resourceType":"Observation"}', 'resourceType'],
    [patient('"id":"a","id":"b"'), 'id'],
    [patient('"name":[{"family":"a","given":["x"],"family":"a"}]'), 'family'],
    [patient('"contact":[{"name":{"family":"a","\\u0066amily":"b"}}]'), 'family'],
    [patient('"extension":[{"url":"u","extension":[{"url":"v","url":"v"}]}]'), 'url'],
    [patient('"meta":{"tag":[],"tag":[]}'), 'tag'],
    [patient('"contained":[{"resourceType":"Patient","a}":1,"a}":2}]'), 'a}'],
    [patient('"a\\"b":1,"a\\"b":2'), 'a"b'],
  ] as const)
    assert.ok((await refused(payload, STRUCTURE)).includes(`"${name}"`), payload)
  const sent = patient('"name":[{"family":"a"},{"family":"a"}],"contact":[{"name":{"family":"family"}}]')
  assert.is((await send(sent)).statusCode, 201)
  await assertServes(server, 'row 10')
})

test('__proto__ is refused everywhere and reaches no prototype (row 11)', async () => {
  for (const [type, payload] of [
    ['Patient', patient('"__proto__":{"x":1}')],
    ['Patient', patient('"\\u005f_proto__":{"x":1}')],
    ['Patient', patient('"extension":[{"url":"u","__proto__":{"x":1}}]')],
    ['Patient', patient('"name":[{"__proto__":null}]')],
    ['Patient', patient('"meta":{"__proto__":{"x":1}}')],
    [
      'Basic',
      '{"resourceType":"Basic","contained":[{"resourceType":"Parameters","parameter":[{"name":"p","__proto__":{"x":1}}]}]}',
    ],
    ['Patient', '{"__proto__":{"resourceType":"Patient"},"resourceType":"Patient"}'],
    ['Patient', '{"__proto__":{"resourceType":"Patient"}}'],
  ] as const) {
    const headers = { 'content-type': 'application/fhir+json' }
    const answer = await server.inject({ method: 'POST', url: `/${type}`, headers, payload })
    assert.match(assertRefused(answer, STRUCTURE, payload), /__proto__/)
  }
  assert.is(({} as { x?: unknown }).x, undefined)
  assert.is(Object.keys(Object.prototype).length, 0)
  await assertServes(server, 'row 11')
})

test('the names that every JavaScript object has are no elements, but length of an Encounter is one (row 12)', async () => {
  for (const name of [...Object.getOwnPropertyNames(Object.prototype), 'prototype']) {
    assert.ok((await refused(patient(`"${name}":"x"`), STRUCTURE)).includes(`"${name}"`), name)
    await refused(patient(`"name":[{"${name}":{}}]`), STRUCTURE)
    await refused(patient(`"meta":{"${name}":null}`), STRUCTURE)
    const asType = `{"resourceType":"${name}"}`
    await refused(asType, STRUCTURE)
    assertRefused(await server.inject(`/${name}/1`), { status: 404, code: ['not-found', 'not-supported'] }, name)
    const query = await server.inject(`/Patient/a?${name}=1`)
    assertRefused(query, { status: 400, code: 'not-supported' }, name)
    // As an id it is one like any other, unless its characters forbid it.
    assertRefused(await server.inject(`/Patient/${name}`), { status: 404, code: 'not-found' }, name)
  }
  const encounter = await server.inject({
    method: 'POST',
    url: '/Encounter',
    headers: { 'content-type': 'application/fhir+json' },
    payload:
      '{"resourceType":"Encounter","status":"finished","class":{"code":"AMB"},"length":{"value":56,"unit":"min"}}',
  })
  assert.is(encounter.statusCode, 201, encounter.body)
  assert.is(encounter.json().length.value, 56)
  await assertServes(server, 'row 12')
})

test('deep nesting is refused at once, a hundred levels are not too deep (row 13)', async () => {
  const nested = (levels: number, open: string, inner: string, close: string): string =>
    patient(`"x":${open.repeat(levels)}${inner}${close.repeat(levels)}`)
  for (const levels of [101, 1_000, 100_000, 1_000_000]) {
    for (const payload of [
      nested(levels, '[', '', ']'),
      nested(levels, '{"a":', '1', '}'),
      nested(levels, '[{"a":', '[]', '}]'),
      '['.repeat(levels),
      '{"a":'.repeat(levels),
      patient(`"extension":${'[{"url":"u","extension":'.repeat(Math.min(levels, 500_000))}`),
    ]) {
      assert.match(await refused(payload, STRUCTURE, `${levels} levels of ${payload.slice(0, 60)}`), /deep/)
    }
  }
  // Brackets in strings are none.
  const flat = patient(`"name":[{"family":"${'['.repeat(1_000)}\\"{{{"}]`)
  assert.is((await send(flat)).statusCode, 201)
  const deepest = `${'{"url":"u","extension":['.repeat(48)}{"url":"v"}${']}'.repeat(48)}`
  assert.is((await send(patient(`"extension":[${deepest}]`))).statusCode, 201)
  await assertServes(server, 'row 13')
})

test('huge strings, arrays and objects are refused in time that grows with their size (row 14)', async () => {
  const tooLong: Expected = { status: 413, code: 'too-long' }
  await refused('['.repeat(2.5 * MEGA), STRUCTURE)
  await refused('{"a":'.repeat(MEGA / 2), STRUCTURE)
  await refused(patient(`"language":"${'a'.repeat(MOST)}"`), tooLong)
  await refused('"'.repeat(2.5 * MEGA), STRUCTURE)
  await refused(`{"a":"${'\\'.repeat(2.5 * MEGA)}`, STRUCTURE)
  await refused(`{"a":"${'\\"'.repeat(1.25 * MEGA)}`, STRUCTURE)
  await refused(' '.repeat(2.5 * MEGA), STRUCTURE)
  await refused(`${'\n'.repeat(2.5 * MEGA)}x`, STRUCTURE)
  await refused(`{"a":${'1'.repeat(2.5 * MEGA)}`, STRUCTURE)
  await refused(`{${':'.repeat(2.5 * MEGA)}`, STRUCTURE)
  await refused(`{"a":1${','.repeat(2.5 * MEGA)}`, STRUCTURE)
  const many = (count: number, one: (n: number) => string): string =>
    Array.from({ length: count }, (_, n) => one(n)).join(',')
  const tooCostly: Expected = { status: 400, code: ['structure', 'value', 'too-costly'] }
  await refused(patient(`"name":[${many(1_000_000, () => '1')}]`), tooCostly)
  await refused(patient(`"name":[${many(1_000_000, () => '{}')}]`), tooCostly)
  await refused(patient(`"name":[{"given":[${many(1_000_000, () => '"a"')}]}]`), tooCostly)
  await refused(patient(many(100_000, (n) => `"k${n}":1`)), STRUCTURE)
  await refused(patient(many(100_000, (n) => `"${n}":1`)), STRUCTURE)
  await refused(patient(`"name":[{${many(100_000, (n) => `"k${n}":1`)}}]`), STRUCTURE)
  // The same with one of them twice, which is looked for.
  await refused(patient(`${many(100_000, (n) => `"k${n}":1`)},"k7":1`), STRUCTURE)
  await refused(patient(`"language":"${'a'.repeat(3.5 * MEGA)}","language":""`), STRUCTURE)
  await assertServes(server, 'row 14')
})

test.run()
