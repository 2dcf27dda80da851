/** Codes of a system that says caseSensitive: false are found in any case. https://hl7.org/fhir/R4/search.html#token */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { moreDefinitions } from '../../support/more-definitions.ts'
import { searchDefinitions } from '../../support/search-definitions.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'

const headers = { 'content-type': 'application/fhir+json' }
const ANY = 'http://any.example'
const EXACT = 'http://exact.example'
const codeSystem = (id: string, url: string, caseSensitive: boolean) => ({
  resourceType: 'CodeSystem',
  id,
  url,
  status: 'active',
  content: 'complete',
  caseSensitive,
})
const pluginsWith = (version: string, caseSensitive: boolean) => [
  database,
  moreDefinitions(searchDefinitions(), 'systems', version, [
    codeSystem('any', ANY, caseSensitive),
    codeSystem('exact', EXACT, true),
  ]),
  ...fhirPlugins,
]
const observation = (id: string, system: string, code: string, more: object = {}) => ({
  resourceType: 'Observation',
  id,
  status: 'final',
  code: { coding: [{ system, code }] },
  ...more,
})
const fill = async (server: TestServer): Promise<void> => {
  for (const resource of [
    observation('any-upper', ANY, 'ABC'),
    observation('any-mixed', ANY, 'aBc', { valueQuantity: { value: 1 } }),
    observation('any-lower', ANY, 'abc', { subject: { reference: 'Patient/p' } }),
    observation('exact-upper', EXACT, 'ABC'),
    observation('exact-lower', EXACT, 'abc'),
    observation('inside', 'http://o', 'o', {
      contained: [{ ...observation('c', ANY, 'AbC'), id: 'c' }],
    }),
  ]) {
    const url = `/Observation/${resource.id}`
    const answer = await server.inject({ method: 'PUT', url, headers, payload: JSON.stringify(resource) })
    assert.is(answer.statusCode, 201, answer.body)
  }
}
const found = async (server: TestServer, query: string): Promise<string> => {
  const answer = await server.inject(`/Observation?${query}`)
  assert.is(answer.statusCode, 200, `${query} ${answer.body}`)
  const ids = ((answer.json().entry ?? []) as { resource: { id: string } }[]).map(({ resource }) => resource.id)
  return ids.sort().join(' ')
}
const EVERY = 'any-lower any-mixed any-upper'
const settings = { conformance: { update_as_create: true } }

test('whatever case was stored and whatever is asked for, with the system and without', async () => {
  const server = await serverWith({ plugins: pluginsWith('1', false), settings })
  await fill(server)
  for (const code of ['ABC', 'abc', 'AbC']) {
    assert.is(await found(server, `code=${ANY}|${code}`), EVERY, code)
    assert.is(await found(server, `code=${ANY}|${code},${ANY}|none`), EVERY, code)
    assert.is(await found(server, `code:not=${ANY}|${code}`), 'exact-lower exact-upper inside')
    assert.is(await found(server, `subject=Patient/p&code=${ANY}|${code}`), 'any-lower')
    for (const system of [`${ANY}|`, ''])
      assert.is(await found(server, `code-value-quantity=${system}${code}$1`), 'any-mixed')
    assert.is(await found(server, `code=${ANY}|${code}&_contained=true`), 'inside')
  }
  assert.is(await found(server, `code=${EXACT}|ABC`), 'exact-upper')
  assert.is(await found(server, `code=${EXACT}|AbC`), '')
  assert.is(await found(server, 'code=ABC'), `${EVERY} exact-upper`)
  assert.is(await found(server, 'code=abc'), `${EVERY} exact-lower`)
  assert.is(await found(server, 'code=aBC'), EVERY)
  assert.is(await found(server, 'code=|ABC'), '')
  assert.is(await found(server, `_filter=${encodeURIComponent(`code eq ${ANY}|AbC`)}`), EVERY)
  await server.stop()
})

test('when a package changes the case of a system, what was stored is indexed anew before the server is ready', async () => {
  if (chosenKind.name === 'memory') return
  const place = await chosenKind.fresh()
  for (const [version, caseSensitive] of [
    ['1', true],
    ['2', false],
    ['3', true],
  ] as const) {
    const plugins = pluginsWith(version, caseSensitive)
    const server = await serverWith({ plugins, settings: { ...settings, ...place.settings } })
    if (version === '1') await fill(server)
    assert.is(await found(server, `code=${ANY}|Abc`), caseSensitive ? '' : EVERY, version)
    assert.is(await found(server, `code=${ANY}|ABC`), caseSensitive ? 'any-upper' : EVERY, version)
    assert.is(await found(server, `code-value-quantity=${ANY}|ABC$1`), caseSensitive ? '' : 'any-mixed', version)
    assert.is(await found(server, `code=${ANY}|ABC&_contained=true`), caseSensitive ? '' : 'inside', version)
    assert.is(await found(server, `code=${EXACT}|ABC`), 'exact-upper')
    assert.is(await found(server, 'code:missing=true'), '')
    await server.stop()
  }
  await place.remove()
})

test.run()
