/** Hidden SearchParameters, ValueSets and CodeSystems: at work for everybody, named and read only where they may be seen. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin, type Restriction } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import terminology from '../../../plugins/terminology/index.ts'
import validation from '../../../plugins/validation/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

type Json = Record<string, any>

let restrictions: readonly Restriction[] = []
const gate = definePlugin({
  name: 'gate',
  setup({ hooks }) {
    hooks.authorize.tap('restrict', (_request, _interaction, ruling) => {
      for (const one of restrictions) ruling.restrict(one)
    })
  },
})
const openOnly: Restriction = { types: {}, others: [{ rights: 'cruds', query: '_tag=open' }] }

let server: TestServer
const ask = async (method: 'GET' | 'POST' | 'PUT', url: string, resource?: Json) => {
  const { statusCode, body } = await server.inject({
    method,
    url,
    headers: resource === undefined ? {} : { 'content-type': 'application/fhir+json' },
    ...(resource === undefined ? {} : { payload: JSON.stringify(resource) }),
  })
  return { status: statusCode, text: body }
}
const tagged = (code: string): Json => ({ meta: { tag: [{ system: 'http://t', code }] } })
const parameter = (more: Json): Json => ({
  resourceType: 'SearchParameter',
  name: 'x',
  status: 'active',
  description: 'x',
  base: ['Observation'],
  type: 'token',
  expression: 'Observation.code',
  ...more,
})
const SYSTEM = 'http://hid.example/cs'

test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), validation, gate, ...fhirPlugins, terminology],
    settings: { conformance: { update_as_create: true } },
  })
  const stored: readonly Json[] = [
    parameter({ id: 'sp-hid', url: 'http://hid.example/sp', code: 'hidcode', ...tagged('secret') }),
    parameter({ id: 'sp-open', url: 'http://open.example/sp', code: 'opencode', ...tagged('open') }),
    {
      resourceType: 'CodeSystem',
      id: 'cs-hid',
      url: SYSTEM,
      status: 'active',
      content: 'complete',
      concept: [{ code: 'hidconcept' }],
      ...tagged('secret'),
    },
    {
      resourceType: 'ValueSet',
      id: 'vs-hid',
      url: 'http://hid.example/vs',
      status: 'active',
      compose: { include: [{ system: SYSTEM, concept: [{ code: 'hidconcept' }] }] },
      ...tagged('secret'),
    },
  ]
  for (const one of stored) {
    const { status, text } = await ask('PUT', `/${one.resourceType}/${one.id}`, one)
    assert.is(status, 201, text)
  }
})
test.before.each(() => {
  restrictions = [openOnly]
})
test.after(() => server.stop())

const refusal = async (url: string, code: string, by: 'POST' | '$validate' | 'transaction'): Promise<string> => {
  const resource = parameter({ url, code, ...tagged('open') })
  const entry = [{ resource, request: { method: 'POST', url: 'SearchParameter' } }]
  const { text } =
    by === 'POST'
      ? await ask('POST', '/SearchParameter', resource)
      : by === '$validate'
        ? await ask('POST', '/SearchParameter/$validate?mode=create', resource)
        : await ask('POST', '/', { resourceType: 'Bundle', type: 'transaction', entry })
  assert.match(text, /duplicate/, text)
  return text
}

test('a SearchParameter that clashes with a hidden one is refused without naming it', async () => {
  for (const by of ['POST', '$validate', 'transaction'] as const) {
    const byUrl = await refusal('http://hid.example/sp', 'mine', by)
    assert.match(byUrl, /The url http:\/\/hid\.example\/sp is taken by another SearchParameter\./)
    const byCode = await refusal('http://mine.example/sp', 'hidcode', by)
    assert.match(byCode, /The code hidcode of Observation is taken by another SearchParameter\./)
    for (const text of [byUrl, byCode]) assert.not.match(text, /sp-hid/)
    assert.not.match(byCode, /hid\.example/)
  }
})

test('one that may be seen is named', async () => {
  for (const by of ['POST', '$validate', 'transaction'] as const) {
    assert.match(await refusal('http://open.example/sp', 'mine', by), /SearchParameter\/sp-open has the url/)
    assert.match(await refusal('http://mine.example/sp', 'opencode', by), /\(SearchParameter\/sp-open\)/)
  }
  restrictions = []
  assert.match(await refusal('http://mine.example/sp', 'hidcode', 'POST'), /\(SearchParameter\/sp-hid\)/)
})

test('a hidden value set or code system is not there by its id, in the address or in a parameter', async () => {
  const same = async (byAddress: string, byName: string): Promise<void> => {
    const one = await ask('GET', byAddress)
    const other = await ask('GET', byName)
    assert.equal([one.status, other.status], [404, 404], other.text)
    assert.is(other.text, one.text)
    assert.is(other.text.replaceAll('-hid', '-never'), (await ask('GET', byName.replaceAll('-hid', '-never'))).text)
  }
  await same('/ValueSet/vs-hid/$expand', '/ValueSet/$expand?url=ValueSet/vs-hid')
  const coding = `system=${SYSTEM}&code=hidconcept`
  await same(`/ValueSet/vs-hid/$validate-code?${coding}`, `/ValueSet/$validate-code?url=ValueSet/vs-hid&${coding}`)
  const { status, text } = await ask('GET', '/CodeSystem/$lookup?system=CodeSystem/cs-hid&code=hidconcept')
  assert.is(status, 404, text)
  assert.not.match(text, /hidconcept/)
  assert.is((await ask('GET', '/ValueSet/$expand?url=vs-hid')).status, 404)
  restrictions = []
  assert.is((await ask('GET', '/ValueSet/$expand?url=ValueSet/vs-hid')).status, 200)
})

test('by its canonical it works for everybody, as the README says', async () => {
  assert.match((await ask('GET', '/ValueSet/$expand?url=http://hid.example/vs')).text, /hidconcept/)
  assert.is((await ask('GET', '/Observation?code:in=http://hid.example/vs')).status, 200)
})

test.run()
