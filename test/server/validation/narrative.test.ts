/** Which elements and attributes a narrative may have. https://hl7.org/fhir/R4/narrative.html */
// database: sqlite, because what a resource may hold is checked before anything is asked of the database
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import validation from '../../../plugins/validation/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

type Json = Record<string, any>

let server: TestServer
test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), validation, ...fhirPlugins],
    settings: { conformance: { update_as_create: true } },
  })
})
test.after(() => server.stop())

const send = async (url: string, body: Json | string, prefer = 'return=OperationOutcome') => {
  const answer = await server.inject({
    method: 'POST',
    url,
    headers: { 'content-type': 'application/fhir+json', prefer },
    payload: typeof body === 'string' ? body : JSON.stringify(body),
  })
  const issue: readonly Json[] = answer.json().issue
  return { status: answer.statusCode, issue, said: issue.map(({ diagnostics }) => diagnostics).join('\n') }
}
const severities = ({ issue }: { readonly issue: readonly Json[] }): string =>
  issue.map(({ severity }) => severity[0]).join('')

const div = (inner: string): string => `<div xmlns="http://www.w3.org/1999/xhtml">x${inner}</div>`
const narrated = (inner: string) =>
  send('/Patient', { resourceType: 'Patient', text: { status: 'generated', div: div(inner) } })

test('a narrative may have what the text of the specification allows, and is warned of what the list of its rule lacks', async () => {
  for (const [inner, what] of [
    ['<u>a</u>', 'the element <u>'],
    ['<s>a</s>', 'the element <s>'],
    ['<strike>a</strike>', 'the element <strike>'],
    ['<font color="red" face="Arial" size="2">a</font>', 'the element <font>'],
    ['<address>a</address>', 'the element <address>'],
    ['<bdo dir="rtl">a</bdo>', 'the element <bdo>'],
    ['<kbd>a</kbd>', 'the element <kbd>'],
    [
      '<img src="a.png" alt="a" usemap="#m"/><map name="m"><area shape="rect" coords="0,0,1,1" href="a.html" alt="a"/></map>',
      'the attribute usemap',
    ],
    ['<map name="m"><area nohref="nohref" alt="a"/></map>', 'the element <map>'],
    ['<pre xml:space="preserve">a</pre>', 'the attribute xml:space'],
    ['<br clear="all"/>', 'the attribute clear'],
    ['<hr noshade="noshade"/>', 'the attribute noshade'],
  ] as const) {
    const { status, issue, said } = await narrated(inner)
    assert.is(status, 201, said)
    const warnings = issue.filter(({ severity }) => severity === 'warning')
    assert.equal(
      warnings.map(({ expression }) => expression),
      [['Patient.text.div']],
      said,
    )
    assert.ok(warnings[0]?.diagnostics.includes(`txt-1: ${what} is not in the list`), said)
  }
  const plain = await narrated('<b>a</b><span style="color: red" xml:lang="en">b</span>')
  assert.is(severities(plain), 'i', plain.said)
})

test('a narrative may not have deletions and insertions, nor what a browser would run', async () => {
  for (const inner of [
    '<ins>a</ins>',
    '<del>a</del>',
    '<center>a</center>',
    '<basefont/>',
    '<map name="m"><area href="javascript:x" alt="a"/></map>',
    '<img src="a" usemap="javascript:x"/>',
    '<u onclick="x">a</u>',
    '<font style="behavior: url(x)">a</font>',
  ]) {
    const { status, said } = await narrated(inner)
    assert.is(status, 422, `${inner} ${said}`)
    assert.match(said, /txt-1/)
  }
})

test.run()
