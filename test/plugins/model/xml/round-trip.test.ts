/**
 * Resources as XML and back: the same JSON, with the digits of its numbers, and XML that another parser reads. Examples that
 * have no element in a new shape are left to ALL_EXAMPLES=1.
 */
// database: memory, because none is opened
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { isChosen, readChosen } from '../../../support/chosen-examples.ts'
import { createExampleCodec, exampleNames, readExample } from '../../../support/example-codec.ts'
import { differenceIn } from '../../../support/same-json.ts'
import { elementsAt, readDocument, rootNameOf, valuesAt } from '../../../support/xml-documents.ts'

const codec = createExampleCodec()
const toXml = (resource: object | string, pretty = false): Promise<string> =>
  codec.toXml(typeof resource === 'string' ? resource : JSON.stringify(resource), pretty)
const toJson = (xml: string): Promise<string> => codec.toJson(Buffer.from(xml))

const assertSame = async (json: string, about: string, pretty = false): Promise<string> => {
  const xml = await toXml(json, pretty)
  const difference = differenceIn(json, await toJson(xml))
  assert.is(difference, undefined, `${about} differs at ${difference}`)
  return xml
}

test('official examples with each element in each of its shapes are the same JSON after they were XML', async () => {
  let count = 0
  for (const name of exampleNames) {
    if (!isChosen(name)) continue
    const json = readChosen(name)
    if ((JSON.parse(json) as { resourceType?: string }).resourceType === undefined) continue
    await assertSame(json, name)
    count += 1
  }
  assert.ok(count >= (process.env.ALL_EXAMPLES === undefined ? 700 : 5306), String(count))
})

test('one example of each type is well-formed to another parser, and indented the same resource', async () => {
  const seen = new Set<string>()
  for (const name of exampleNames) {
    const type = name.slice(0, name.indexOf('-'))
    const json = seen.has(type) ? '' : readExample(name)
    if (json === '' || json.length > 300_000) continue
    seen.add(type)
    assert.is(rootNameOf(await assertSame(json, name)), type, name)
    const pretty = await assertSame(json, name, true)
    assert.is(rootNameOf(pretty), type, name)
  }
  assert.ok(seen.size >= 140, String(seen.size))
})

test('decimals keep their digits, and primitives their id, extensions and gaps', async () => {
  const extension = (value: string): string => `{"url":"http://example.org/e","valueDecimal":${value}}`
  for (const value of ['1.00', '1e3', '-0.0', '1E-7', '100', `0.${'1'.repeat(60)}`]) {
    const xml = await assertSame(`{"resourceType":"Patient","extension":[${extension(value)}]}`, value)
    assert.equal(valuesAt(xml, 'extension/valueDecimal'), [value])
  }
  const xml = await assertSame(
    JSON.stringify({
      resourceType: 'Patient',
      name: [
        { given: ['a', null, 'c'], _given: [null, { id: 'g', extension: [{ url: 'u', valueBoolean: false }] }, null] },
        { _given: [{ extension: [{ url: 'u', valueInteger: 0 }] }] },
      ],
      birthDate: '2000-01-01',
      _birthDate: { id: 'b', extension: [{ url: 'u', valueTime: '10:00:00' }] },
      contained: [{ resourceType: 'Organization', id: 'o', name: 'x' }],
    }),
    'primitives',
  )
  assert.equal(valuesAt(xml, 'name/given'), ['a', '', 'c', ''])
  assert.equal(
    elementsAt(readDocument(xml), 'birthDate').map((one) => one.getAttribute('id')),
    ['b'],
  )
  assert.equal(valuesAt(xml, 'contained/Organization/id'), ['o'])
})

test('the order is that of the definition, whatever that of the members was', async () => {
  const xml = await toXml({
    gender: 'male',
    birthDate: '2000',
    name: [{ given: ['b'], family: 'a' }],
    id: 'p',
    resourceType: 'Patient',
  })
  assert.match(
    xml,
    /^<\?xml version="1.0" encoding="UTF-8"\?><Patient xmlns="http:\/\/hl7.org\/fhir"><id value="p"\/><name><family value="a"\/><given value="b"\/><\/name><gender value="male"\/><birthDate value="2000"\/><\/Patient>$/,
  )
})

test('text with markup, line ends, tabs and characters beyond the first plane comes back as it was', async () => {
  const text = ' a<b>&amp;"\'\t\r\n]]> 😀\u0085\u2028 é '
  const xml = await assertSame(JSON.stringify({ resourceType: 'Patient', name: [{ text }] }), 'text')
  assert.equal(valuesAt(xml, 'name/text'), [text])
})

test('a narrative is the text that was sent, and gets along without a prefix or a namespace from outside', async () => {
  const patient = (div: string, more = ''): string =>
    `<Patient xmlns="http://hl7.org/fhir"${more}><text><status value="generated"/>${div}</text></Patient>`
  const divOf = async (xml: string): Promise<string> => (JSON.parse(await toJson(xml)) as any).text.div
  const sent = `<div xmlns="http://www.w3.org/1999/xhtml" title='x'>a<br /><!-- c --> &#160;&lt;<b>ü</b>\r\n</div>`
  assert.is(await divOf(patient(sent)), sent)
  await assertSame(JSON.stringify({ resourceType: 'Patient', text: { status: 'generated', div: sent } }), 'narrative')
  const plain = '<div xmlns="http://www.w3.org/1999/xhtml"><p title="a&quot;b">x<br/>&lt;y&gt;</p><!-- c --></div>'
  const prefixed = `<h:div xmlns:h="http://www.w3.org/1999/xhtml"><h:p title='a"b'>x<h:br/><![CDATA[<y>]]></h:p><!-- c --></h:div>`
  assert.is(await divOf(patient(prefixed)), plain)
  assert.is(
    await divOf(
      patient(
        prefixed.replace(' xmlns:h="http://www.w3.org/1999/xhtml"', ''),
        ' xmlns:h="http://www.w3.org/1999/xhtml"',
      ),
    ),
    plain,
  )
  const inherited = `<f:Patient xmlns:f="http://hl7.org/fhir" xmlns="http://www.w3.org/1999/xhtml"><f:text><f:status value="generated"/><div><p>x</p></div></f:text></f:Patient>`
  assert.is(await divOf(inherited), '<div xmlns="http://www.w3.org/1999/xhtml"><p>x</p></div>')
})

test('white space between elements and comments say nothing', async () => {
  const xml =
    '\n<!-- a -->\n<f:Patient xmlns:f="http://hl7.org/fhir">\r\n\t<!-- b --><f:active   value = "true"  >\n</f:active>\n</f:Patient>\n<!-- c -->'
  assert.is(await toJson(xml), '{"resourceType":"Patient","active":true}')
  assert.is(
    await toJson(`\ufeff<?xml version="1.0" encoding="utf-8" standalone='yes'?>${xml.trim()}`),
    '{"resourceType":"Patient","active":true}',
  )
})

test('what XML cannot hold is refused', async () => {
  for (const [resource, why] of [
    [{ resourceType: 'Patient', name: [{ text: 'a\u0001' }] }, 'U+0001'],
    [{ resourceType: 'Patient', name: [{ text: '\uffff' }] }, 'U+FFFF'],
    [{ resourceType: 'Patient', foo: 1 }, 'no element "foo"'],
    [{ resourceType: 'Foo' }, 'unknown type'],
    [
      { resourceType: 'Patient', text: { div: '<div xmlns="http://www.w3.org/1999/xhtml"><p></div>' } },
      'not well-formed',
    ],
    [{ resourceType: 'Patient', text: { div: '<div>a</div>' } }, 'not well-formed XHTML'],
    [
      { resourceType: 'Patient', text: { div: '<!DOCTYPE div><div xmlns="http://www.w3.org/1999/xhtml">a</div>' } },
      'not well-formed',
    ],
    [{ resourceType: 'Patient', name: 'x' }, 'no object'],
    [{ resourceType: 'Patient', gender: {} }, 'primitive'],
  ] as const) {
    const refusal = await toXml(resource).then(
      () => undefined,
      (error) => error,
    )
    assert.is(refusal?.key, 'fhir/not-in-xml', JSON.stringify(resource))
    assert.match(refusal.message, why)
  }
})

test('an element whose name is resourceType is an element', async () => {
  const json = JSON.stringify({
    resourceType: 'ExampleScenario',
    status: 'draft',
    instance: [{ resourceId: 'x', resourceType: 'Patient' }],
  })
  assert.equal(valuesAt(await assertSame(json, 'ExampleScenario'), 'instance/resourceType'), ['Patient'])
})

test.run()
