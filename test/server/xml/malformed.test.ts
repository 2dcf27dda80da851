/** Documents that are no resource in XML are refused with the place of what is wrong, and nothing of them is stored. */
// database: sqlite, because XML is refused before anything is asked of the database
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import audit from '../../../plugins/audit/index.ts'
import database from '../../../plugins/database/index.ts'
import validation from '../../../plugins/validation/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'
import { FHIR_XML } from '../../support/xml-client.ts'
import { valuesAt } from '../../support/xml-documents.ts'
import { createMutator } from './mutator.ts'

let server: TestServer
test.before(async () => {
  server = await serverWith({ plugins: [database, stubDefinitions('all'), validation, ...fhirPlugins, audit] })
})
test.after(() => server.stop())

const NS = 'xmlns="http://hl7.org/fhir"'
const DIV = '<div xmlns="http://www.w3.org/1999/xhtml">a</div>'
const patient = (content: string): string => `<Patient ${NS}>${content}</Patient>`
const text = (div: string): string => patient(`<text><status value="generated"/>${div}</text>`)
const nested = (levels: number, open: string, close: string): string => open.repeat(levels) + close.repeat(levels)

/** Each with a part of the message that it gets. */
const WRITTEN: readonly (readonly [document: string | Buffer, message: RegExp])[] = [
  ['', /empty/],
  [' \n', /empty/],
  ['x', /line 1, column/],
  ['{"resourceType":"Patient"}', /not well-formed/],
  ['<Patient', /unexpected end|root element/],
  [`<Patient ${NS}>`, /unclosed tag/],
  [`<Patient ${NS}></patient>`, /line 1, column/],
  [`${patient('')}<Patient ${NS}/>`, /only one root/],
  [`${patient('')}x`, /text data outside/],
  [patient('<active value=true/>'), /unquoted/],
  [patient('<active value="true"'), /not well-formed/],
  [patient('<active value="true" value="true"/>'), /duplicate attribute/],
  [patient('<active value="true"value="x"/>'), /whitespace/],
  [patient('<name><text value="<"/></name>'), /disallowed character/],
  [patient('<name><text value="a & b"/></name>'), /not well-formed/],
  [patient('<name><text value="&nbsp;"/></name>'), /undefined entity/],
  [patient('<name><text value="&#0;"/></name>'), /malformed character entity/],
  [patient('<name><text value="&#xD800;"/></name>'), /malformed character entity/],
  [patient('<name><text value="\u0001"/></name>'), /disallowed character/],
  [patient('<!-- a -- b -->'), /malformed comment/],
  [patient('<x:active value="true"/>'), /unbound namespace prefix/],
  // A document type, entities, instructions
  [`<!DOCTYPE Patient>${patient('')}`, /DOCTYPE is refused/],
  [`<!DOCTYPE Patient SYSTEM "file:///etc/passwd">${patient('')}`, /DOCTYPE is refused/],
  [`<!DOCTYPE p [<!ENTITY x "y">]>${patient('<name><text value="&x;"/></name>')}`, /DOCTYPE is refused/],
  [
    `<!DOCTYPE p [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>${patient('<name><text value="&c;"/></name>')}`,
    /DOCTYPE is refused/,
  ],
  [`<!DOCTYPE p [<!ENTITY % x SYSTEM "http://127.0.0.1/x"> %x;]>${patient('')}`, /DOCTYPE is refused/],
  [`<?xml-stylesheet href="x"?>${patient('')}`, /processing instruction/],
  [patient('<?php x ?>'), /processing instruction/],
  [text('<div xmlns="http://www.w3.org/1999/xhtml"><?php x ?></div>'), /processing instruction/],
  // Encodings
  [`<?xml version="1.0" encoding="ISO-8859-1"?>${patient('')}`, /ISO-8859-1/],
  [`<?xml version="1.0" encoding="UTF-16"?>${patient('')}`, /UTF-16/],
  [`<?xml version="1.1"?>${patient('')}`, /XML 1\.1/],
  [` <?xml version="1.0"?>${patient('')}`, /declaration must be at the start/],
  [Buffer.from(`\ufeff${patient('')}`, 'utf16le'), /UTF-16/],
  [`\ufeff\ufeff${patient('')}`, /line 1, column 1: U\+FEFF/],
  [`\ufeff\ufeff<?xml version="1.0"?>${patient('')}`, /U\+FEFF/],
  [Buffer.from(patient('<name><text value="\u00fc"/></name>'), 'latin1'), /not valid UTF-8/],
  [Buffer.from(patient(''), 'utf16le'), /not well-formed/],
  // Namespaces
  ['<Patient/>', /in the namespace ""/],
  ['<Patient xmlns="urn:hl7-org:v3"/>', /urn:hl7-org:v3/],
  [patient('<active xmlns="" value="true"/>'), /in the namespace ""/],
  [text('<div>a</div>'), /has to be in "http:\/\/www.w3.org\/1999\/xhtml"/],
  [text('<div xmlns="http://www.w3.org/1999/xhtml"><p xmlns="urn:x">a</p></div>'), /urn:x/],
  [patient('<contained><Patient xmlns="urn:x"/></contained>'), /urn:x/],
  // Types and elements
  [`<Foo ${NS}/>`, /"Foo" is not a resource type/],
  [`<DomainResource ${NS}/>`, /is not a resource type/],
  [`<Observation ${NS}/>`, /type/],
  [patient('<foo value="1"/>'), /no element "foo" in Patient/],
  [patient('<name><foo value="1"/></name>'), /no element "foo" in HumanName/],
  [patient('<contact><foo/></contact>'), /no element "foo" in Patient.contact/],
  [patient('<resourceType value="Patient"/>'), /no element "resourceType"/],
  [patient('<_birthDate id="x"/>'), /no element "_birthDate"/],
  [patient('<deceased value="true"/>'), /no element "deceased"/],
  [patient('<deceasedQuantity/>'), /no element/],
  [patient('<__proto__ value="1"/>'), /no element "__proto__"/],
  [patient('<constructor value="1"/>'), /no element "constructor"/],
  [patient('<birthDate value="2000"/><gender value="male"/>'), /"gender" of Patient stands behind/],
  [patient('<name><given value="a"/><family value="b"/></name>'), /"family" of HumanName stands behind/],
  [patient('<name/><gender value="male"/><name/>'), /empty/],
  [
    patient('<name><text value="a"/></name><gender value="male"/><name><text value="b"/></name>'),
    /"name" of Patient stands behind/,
  ],
  [patient('<gender value="male"/><gender value="male"/>'), /"gender" of Patient does not repeat/],
  [patient('<deceasedBoolean value="true"/><deceasedDateTime value="2000"/>'), /does not repeat/],
  [text(DIV + DIV), /"div" of Narrative does not repeat/],
  // Attributes and values
  [patient('<gender/>'), /"gender" is empty/],
  [patient('<name/>'), /"name" is empty/],
  [patient('<name></name>'), /"name" is empty/],
  [patient('<gender value=""/>'), /attribute "value" of "gender" is empty/],
  [patient('<gender value=" "/>'), /is empty/],
  [patient('<name id=""><text value="a"/></name>'), /attribute "id" of "name" is empty/],
  [patient('<extension url=""><valueCode value="a"/></extension>'), /attribute "url"/],
  [patient('<gender code="male"/>'), /no attribute "code"/],
  [patient('<name value="x"/>'), /no attribute "value"/],
  [`<Patient ${NS} id="x"/>`, /no attribute "id"/],
  [
    `<Patient ${NS} xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="a b"/>`,
    /no attribute "xsi:schemaLocation"/,
  ],
  [patient('<gender xml:lang="en" value="male"/>'), /no attribute "xml:lang"/],
  [patient('<active value="TRUE"/>'), /not of the type boolean/],
  [patient('<active value="1"/>'), /not of the type boolean/],
  [patient('<multipleBirthInteger value="1.0"/>'), /not of the type integer/],
  [patient('<multipleBirthInteger value="01"/>'), /not of the type integer/],
  [patient('<telecom><rank value="a"/></telecom>'), /not of the type positiveInt/],
  [patient('<extension url="u"><valueDecimal value=".5"/></extension>'), /not of the type decimal/],
  [patient('<extension url="u"><valueDecimal value="NaN"/></extension>'), /not of the type decimal/],
  [patient('<extension url="u"><valueDecimal value="1,5"/></extension>'), /not of the type decimal/],
  // Text
  [patient('x'), /text in Patient/],
  [patient('<gender>male</gender>'), /text in gender/],
  [patient('<name><text value="a"/>x</name>'), /text in name/],
  [patient('<![CDATA[ ]]>'), /text in Patient/],
  // Resources in resources
  [patient('<contained/>'), /"contained" is empty/],
  [patient('<contained>x</contained>'), /text in contained/],
  [patient('<contained><Foo/></contained>'), /"Foo" is not a resource type/],
  [patient('<contained><Patient/><Patient/></contained>'), /holds one resource/],
  [patient('<contained id="x"><Patient/></contained>'), /no attribute "id"/],
  // Depth and size
  [patient(nested(60, '<extension url="u">', '</extension>')), /nest too deeply/],
  [patient(nested(50_000, '<extension url="u">', '</extension>')), /nest too deeply/],
  [text(`<div xmlns="http://www.w3.org/1999/xhtml">${nested(300_000, '<b>', '</b>')}</div>`), /nest too deeply/],
  [patient(nested(300_000, '<contained><Patient>', '</Patient></contained>')), /nest too deeply/],
]

const send = (payload: string | Buffer) =>
  server.inject({
    method: 'POST',
    url: '/Patient',
    headers: { 'content-type': FHIR_XML, accept: FHIR_XML },
    payload,
  })

/** Number of versions that are stored. */
const stored = async (): Promise<number> =>
  ((await server.inject('/_history')).json() as { entry?: unknown[] }).entry?.length ?? 0

/** Refuses it with 4xx, and says so in one precise sentence of XML. */
const refusal = async (document: string | Buffer): Promise<string> => {
  const { statusCode, body } = await send(document)
  const about = `${document.toString('latin1').slice(0, 300)}\n${statusCode} ${body.slice(0, 300)}`
  assert.ok(statusCode >= 400 && statusCode < 500, about)
  const [diagnostics = ''] = valuesAt(body, 'issue/diagnostics')
  assert.ok(diagnostics.length > 10 && diagnostics.length < 600, about)
  assert.not.match(diagnostics, /node_modules|\.ts:|TypeError|undefined\b(?! entity)/, about)
  return diagnostics
}

test('handwritten documents are refused with what is wrong and where', async () => {
  for (const [document, message] of WRITTEN) {
    const shown = await refusal(document)
    assert.match(shown, message, document.toString('latin1').slice(0, 300))
  }
  assert.ok(WRITTEN.length > 90, String(WRITTEN.length))
  assert.is(await stored(), 0)
})

test('a refusal names the line, the column and the element', async () => {
  const { body } = await send(
    `<Patient ${NS}>\n  <name>\n    <given value="a"/>\n    <given value=""/>\n  </name>\n</Patient>`,
  )
  assert.equal(valuesAt(body, 'issue/diagnostics'), [
    'Line 4, column 5: the attribute "value" of "given" is empty; leave it out or give it a value.',
  ])
  assert.equal(valuesAt(body, 'issue/expression'), ['Patient.name[0].given[1]'])
})

test('documents that a mutator has damaged are refused, by two readers that know nothing of each other', async () => {
  const mutator = createMutator(20261127)
  for (let count = 0; count < 220; count += 1) await refusal(mutator())
  assert.is(await stored(), 0)
})

test('a refused document is recorded in the audit trail, as one in JSON is', async () => {
  const entries = async (): Promise<readonly any[]> =>
    (
      JSON.parse(
        (await server.inject({ url: '/_audit?_count=1000', headers: { accept: 'application/fhir+json' } })).body,
      ) as any
    ).entry ?? []
  const before = (await entries()).length
  await refusal(patient('<foo/>'))
  const after = await entries()
  assert.is(after.length, before + 1 + 1) // the trail was asked, which it records
})

test('one element that has no definition refuses a batch and $validate as a whole, where JSON names it', async () => {
  const post = (url: string, type: string, payload: string) =>
    server.inject({ method: 'POST', url, headers: { 'content-type': type, accept: 'application/fhir+json' }, payload })
  const entry = (content: string): string =>
    `<entry><resource><Basic>${content}</Basic></resource><request><method value="POST"/><url value="Basic"/></request></entry>`
  const batch = `<Bundle ${NS}><type value="batch"/>${entry('<code><text value="a"/></code>')}${entry('<foo/>')}</Bundle>`
  const refused = await post('/', FHIR_XML, batch)
  assert.is(refused.statusCode, 400, refused.body)
  assert.match(refused.body, 'there is no element \\"foo\\"')
  assert.is(await stored(), 0)
  const validated = await post('/Patient/$validate', FHIR_XML, patient('<foo/><bar/>'))
  assert.is(validated.statusCode, 400, validated.body)
  assert.not.match(validated.body, 'bar')
  const json = await post(
    '/Patient/$validate',
    'application/fhir+json',
    '{"resourceType":"Patient","foo":{"a":1},"bar":{"a":1}}',
  )
  assert.is(json.statusCode, 200, json.body)
  for (const name of ['foo', 'bar']) assert.match(json.body, name)
})

test('the server goes on', async () => {
  assert.is((await send(patient('<active value="true"/>'))).statusCode, 201)
  assert.is(await stored(), 1)
  assert.equal(
    server.lines.filter(({ level }) => level === 'error' || level === 'fatal'),
    [],
  )
})

test.run()
