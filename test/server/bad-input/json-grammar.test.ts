/**
 * The grammar of JSON case by case, in the three groups of the published JSON test suites: what every parser must
 * refuse, what it must accept, and what is left to it. Text is latin1, so that a case can hold any byte.
 */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { parseResource } from '../../../plugins/model/json/parse.ts'
import { toResourceTemplate } from '../../../plugins/model/json/template.ts'
import { assertRefused, assertServes } from '../../support/refused.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'

type Groups = Readonly<Record<string, readonly string[]>>

const REFUSE: Groups = {
  array: [
    '[1 true]',
    '[a\xe5]',
    '["": 1]',
    '[""],',
    '[,1]',
    '[1,,2]',
    '["x",,]',
    '["x"]]',
    '["",]',
    '["x"',
    '[x',
    '[3[4]]',
    '[\xff]',
    '[1:2]',
    '[,]',
    '[-]',
    '[   , ""]',
    '["a",\n4\n,1,',
    '[1,]',
    '[1,,]',
    '["\x0ba"\\f]',
    '[*]',
    '[""',
    '[1,',
    '[1,\n1\n,1',
    '[{}',
  ],
  word: ['[fals]', '[nul]', '[tru]', '[True]', '[NULL]', '[truth]', '[undefined]'],
  number: [
    '[++1234]',
    '[+1]',
    '[+Inf]',
    '[-01]',
    '[-1.0.]',
    '[-2.]',
    '[-NaN]',
    '[.-1]',
    '[.2e-3]',
    '[0.1.2]',
    '[0.3e+]',
    '[0.3e]',
    '[0.e1]',
    '[0E+]',
    '[0E]',
    '[0e+]',
    '[0e]',
    '[1.0e+]',
    '[1.0e-]',
    '[1.0e]',
    '[1 000.0]',
    '[1eE2]',
    '[2.e+3]',
    '[2.e-3]',
    '[2.e3]',
    '[9.e+]',
    '[Inf]',
    '[NaN]',
    '[\xef\xbc\x91]',
    '[1+2]',
    '[0x1]',
    '[0x42]',
    '[Infinity]',
    '[0e+-1]',
    '[-123.123foo]',
    '[123\xe5]',
    '[1e1\xe5]',
    '[0\xe5]',
    '[-Infinity]',
    '[-foo]',
    '[- 1]',
    '[-012]',
    '[-.123]',
    '[-1x]',
    '[1ea]',
    '[1e\xe5]',
    '[1.]',
    '[.123]',
    '[1.2a-3]',
    '[1.8011670033376514H-308]',
    '[012]',
    '[-2.0-]',
    '[1_000]',
  ],
  object: [
    '["x", truth]',
    '{[: "x"}',
    '{"x", null}',
    '{"x"::"b"}',
    '{\xf0\x9f\x87\xa8\xf0\x9f\x87\xad}',
    '{"a":"a" 123}',
    "{key: 'value'}",
    '{"\xb9":"0",}',
    '{"a" b}',
    '{:"b"}',
    '{"a" "b"}',
    '{"a":',
    '{"a"',
    '{1:1}',
    '{9999E9999:1}',
    '{null:null,null:null}',
    '{"id":0,,,,,}',
    "{'a':0}",
    '{"id":0,}',
    '{"a":"b"}/**/',
    '{"a":"b"}/**//',
    '{"a":"b"}//',
    '{"a":"b"}/',
    '{"a":"b",,"c":"d"}',
    '{a: "b"}',
    '{"a":"a',
    '{ "foo" : "bar", "a" }',
    '{"a":"b"}#',
    '{true:1}',
    '{"a":1;"b":2}',
    '{"a"=1}',
    '{"a":1]',
    '{]',
    '{,}',
    '{,"a":1}',
  ],
  string: [
    '["\\uD800\\"]',
    '["\\uD800\\u"]',
    '["\\uD800\\u1"]',
    '["\\uD800\\u1x"]',
    '[\xc3\xa9]',
    '["\\\x00"]',
    '["\\x00"]',
    '["\\\\\\"]',
    '["\\\t"]',
    '["\\\xf0\x9f\x8c\x80"]',
    '["\\"]',
    '["\\u00A"]',
    '["\\uD834\\uDd"]',
    '["\\uD800\\uD800\\x"]',
    '["\\u\xe5"]',
    '["\\a"]',
    '["\\uqqqq"]',
    '["\\\xe5"]',
    '[\\u0020"asd"]',
    '[\\n]',
    '"',
    "['single quote']",
    'abc',
    '["\\',
    '["new\nline"]',
    '["\t"]',
    '"\\UA66D"',
    '""x',
    '["a\x00a"]',
    '["\x1f"]',
    '["\\U0041"]',
    '["\\0"]',
    '["\\\n"]',
    '["a" "b"]',
    '[`a`]',
    '["\\u{41}"]',
    '["\\v"]',
  ],
  structure: [
    '<.>',
    '[<null>]',
    '[1]x',
    '[1]]',
    '["asd]',
    'a\xc3\xa5',
    '[True]x',
    '1]',
    '{"x": true,',
    '[][]',
    ']',
    '\xef\xbb{}',
    '\xe5',
    '[',
    '',
    '[\x00]',
    '2@',
    '{}}',
    '{"":',
    '{"a":/*comment*/"b"}',
    '{"a": true} "x"',
    "['",
    '[,',
    '[{',
    '["a',
    '["a"',
    '{',
    '{]x',
    '{,',
    '{[',
    '{"a',
    "{'a'",
    '["\\{["\\{["\\{["\\{',
    '\xe9',
    '*',
    '{"a":"b"}#{}',
    '[\\u000A""]',
    '[1',
    '[ false, nul',
    '[ true, fals',
    '[ false, tru',
    '{"asd":"asd"',
    '\xc3\xa5',
    '[\xe2\x81\xa0]',
    '\xef\xbb\xbf',
    '[\x0c]',
    '\x0c[]',
    ' ',
    '[{"":[{"":'.repeat(10_000),
    '['.repeat(100_000),
  ],
}

const ACCEPT: Groups = {
  array: [
    '[[]   ]',
    '[""]',
    '[]',
    '["a"]',
    '[false]',
    '[null, 1, "1", {}]',
    '[null]',
    '[1\n]',
    ' [1]',
    '[1,null,null,null,2]',
    '[2] ',
  ],
  number: [
    '[123e65]',
    '[0e+1]',
    '[0e1]',
    '[ 4]',
    '[-0.000000000000000000000000000000000000000000000000000000000000000000000000000001]',
    '[20e1]',
    '[-0]',
    '[-123]',
    '[-1]',
    '[-0.0]',
    '[1E22]',
    '[1E-2]',
    '[1E+2]',
    '[123e45]',
    '[123.456e78]',
    '[1e-2]',
    '[1e+2]',
    '[123]',
    '[123.456789]',
    '[0.010]',
    '[1.00]',
    '[0.123456789012345678]',
    '[123456789012345678]',
  ],
  object: [
    '{"asd":"sdf", "dfg":"fgh"}',
    '{"asd":"sdf"}',
    '{}',
    '{"":0}',
    '{ "min": -1.0e+28, "max": 1.0e+28 }',
    '{"x":[{"id": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}], "id": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}',
    '{"a":[]}',
    '{"title":"\\u041f\\u043e\\u043b\\u0442\\u043e\\u0440\\u0430" }',
    '{\n"a": "b"\n}',
    '{"a":{"a":{"a":1}}}',
    '{"\\u0061":1}',
  ],
  string: [
    '["\\u0060\\u012a\\u12AB"]',
    '["\\uD801\\udc37"]',
    '["\\ud83d\\ude39\\ud83d\\udc8d"]',
    '["\\"\\\\\\/\\b\\f\\n\\r\\t"]',
    '["\\\\u0000"]',
    '["\\""]',
    '["a/*b*/c/*d//e"]',
    '["\\\\a"]',
    '["\\\\n"]',
    '["\\u0012"]',
    '["\\uFFFF"]',
    '["asd"]',
    '[ "asd"]',
    '["\\uDBFF\\uDFFF"]',
    '["new\\u00A0line"]',
    '["\xf4\x8f\xbf\xbf"]',
    '["\xef\xbf\xbf"]',
    '["\\u002c"]',
    '["\xcf\x80"]',
    '["\xf0\x9b\xbf\xbf"]',
    '["asd "]',
    '" "',
    '["\\uD834\\uDd1e"]',
    '["\\u0821"]',
    '["\\u0123"]',
    '["\xe2\x80\xa8"]',
    '["\xe2\x80\xa9"]',
    '["\\u0061\\u30af\\u30EA\\u30b9"]',
    '["new\\u000Aline"]',
    '["\x7f"]',
    '["\\uA66D"]',
    '["\\u005C"]',
    '["\xe2\x8d\x82\xe3\x88\xb4\xe2\x8d\x82"]',
    '["\\uDBFF\\uDFFE"]',
    '["\\uD83F\\uDFFE"]',
    '["\\u200B"]',
    '["\\u2064"]',
    '["\\uFDD0"]',
    '["\\uFFFE"]',
    '["\\u0022"]',
    '["\xe2\x82\xac\xf0\x9d\x84\x9e"]',
    '["a\x7fa"]',
  ],
  structure: ['false', '42', '-0.1', 'null', '"asd"', 'true', '""', '["a"]\n', ' [] '],
}

/** Well-formed, and refused by us on purpose: two readers would not see the same. */
const ACCEPT_NOT_HERE: readonly (readonly [string, 'structure' | 'value'])[] = [
  ['["\\u0000"]', 'value'],
  ['{"foo\\u0000bar": 42}', 'value'],
  ['{"a":"b","a":"c"}', 'structure'],
  ['{"a":"b","a":"b"}', 'structure'],
]

const EITHER: Groups = {
  number: [
    '[123.456e-789]',
    '[0.4e00669999999999999999999999999999999999999999999999999999999999999999999999999999999999999969999999006]',
    '[-1e+9999]',
    '[1.5e+9999]',
    '[-123123e100000]',
    '[123123e100000]',
    '[123e-10000000]',
    '[-123123123123123123123123123123]',
    '[100000000000000000000]',
    '[-237462374673276894279832749832423479823246327846]',
    '[1e400]',
  ],
  object: ['{"\\uDFAA":0}'],
  string: [
    '["\\uDADA"]',
    '["\\uD888\\u1234"]',
    '\xff\xfe[\x00"\x00\xe9\x00"\x00]\x00',
    '["\xe6\x97\xa5\xd1\x88\xfa"]',
    '["\xed\xa0\x80"]',
    '["\\uD800\\n"]',
    '["\\uDd1ea"]',
    '["\\uD800\\uD800\\n"]',
    '["\\ud800"]',
    '["\\ud800abc"]',
    '["\xff"]',
    '["\\uDd1e\\uD834"]',
    '["\xe9"]',
    '["\\uDFAA"]',
    '["\x81"]',
    '["\xf4\xbf\xbf\xbf"]',
    '["\xfc\x83\xbf\xbf\xbf\xbf"]',
    '["\xe0\xff"]',
    '["\xc0\xaf"]',
    '[\x00"\x00\xe9\x00"\x00]\x00',
    '\x00[\x00"\x00\xe9\x00"\x00]',
  ],
  structure: [`${'['.repeat(500)}${']'.repeat(500)}`, '\xef\xbb\xbf{}'],
}

const all = (groups: Groups): readonly string[] => Object.values(groups).flat()
/** The case as an element of a resource. */
const inside = (one: string): Buffer => Buffer.from(`{"resourceType":"Basic","x":${one}}`, 'latin1')
const shown = (one: string): string => JSON.stringify(one.slice(0, 60))

let server: TestServer
test.before(async () => {
  server = await serverWith()
})
test.after(() => server.stop())
const send = (payload: Buffer) =>
  server.inject({ method: 'POST', url: '/Basic', headers: { 'content-type': 'application/fhir+json' }, payload })

/** What reading makes of a body: the text it would store, or the issue code of the refusal. */
const read = (body: Buffer): { readonly stored: string } | { readonly code: string } => {
  try {
    return { stored: toResourceTemplate(parseResource(body)).fill('i', 1, 't') }
  } catch (error) {
    return { code: (error as { code: string }).code }
  }
}

test('no case stands twice, and each group is as large as in the published suite (row 3)', () => {
  for (const groups of [REFUSE, ACCEPT, EITHER]) assert.is(new Set(all(groups)).size, all(groups).length)
  assert.ok(all(REFUSE).length >= 188)
  assert.ok(all(ACCEPT).length + ACCEPT_NOT_HERE.length >= 95)
  assert.ok(all(EITHER).length >= 35)
})

test('what no parser may take is refused, as the body and inside of one (row 3)', async () => {
  for (const one of all(REFUSE)) {
    assertRefused(await send(Buffer.from(one, 'latin1')), { status: 400, code: 'structure' }, shown(one))
    assertRefused(await send(inside(one)), { status: 400, code: 'structure' }, `inside: ${shown(one)}`)
    assert.equal(read(inside(one)), { code: 'structure' }, shown(one))
  }
  await assertServes(server, 'row 3')
})

test('what every parser must take is read and kept to the byte (row 3)', async () => {
  for (const one of all(ACCEPT)) {
    const body = inside(one)
    const expected = body
      .toString('utf8')
      .replace('"Basic",', '"Basic","id":"i","meta":{"versionId":"1","lastUpdated":"t"},')
    assert.equal(read(body), { stored: expected }, shown(one))
    assert.ok((await send(body)).statusCode < 500, shown(one))
    // As the whole body none of them is a resource.
    assertRefused(await send(Buffer.from(one, 'latin1')), { status: 400, code: 'structure' }, shown(one))
  }
  for (const [one, code] of ACCEPT_NOT_HERE) {
    assert.equal(read(inside(one)), { code }, shown(one))
    assertRefused(await send(inside(one)), { status: 400, code }, shown(one))
  }
  await assertServes(server, 'row 3')
})

test('what is left to the parser is refused or kept to the byte, never changed (row 3)', async () => {
  for (const one of all(EITHER)) {
    const body = inside(one)
    const result = read(body)
    if ('stored' in result)
      assert.ok(result.stored.endsWith(`"x":${Buffer.from(one, 'latin1').toString('utf8')}}`), shown(one))
    else assert.ok(['structure', 'value'].includes(result.code), shown(one))
    assert.ok((await send(body)).statusCode < 500, shown(one))
    assertRefused(await send(Buffer.from(one, 'latin1')), { status: 400, code: ['structure', 'value'] }, shown(one))
  }
  await assertServes(server, 'row 3')
})

test.run()
