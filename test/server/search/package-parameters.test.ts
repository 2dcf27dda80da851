/** Search parameters as implementation guides write them; what cannot be indexed is told in the log. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { moreDefinitions } from '../../support/more-definitions.ts'
import { searchDefinitions } from '../../support/search-definitions.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'

const headers = { 'content-type': 'application/fhir+json' }
const ASSERTED = 'http://ext.example/asserted'
const parameter = (code: string, type: string, expression: string | undefined, more: object = {}) => ({
  resourceType: 'SearchParameter',
  id: code,
  url: `http://guide.example/SearchParameter/${code}`,
  code,
  type,
  status: 'active',
  base: ['Patient'],
  ...(expression === undefined ? {} : { expression }),
  ...more,
})
const pluginsWith = (...parameters: readonly ReturnType<typeof parameter>[]) => [
  database,
  moreDefinitions(searchDefinitions(), 'guide', String(parameters.length), parameters),
  ...fhirPlugins,
]
const found = async (server: TestServer, query: string): Promise<string> => {
  const answer = await server.inject(`/Patient?${query}`)
  assert.is(answer.statusCode, 200, `${query} ${answer.body}`)
  const ids = ((answer.json().entry ?? []) as { resource: { id: string } }[]).map(({ resource }) => resource.id)
  return ids.sort().join(' ')
}
const put = async (server: TestServer, resource: { readonly id: string } & Record<string, unknown>): Promise<void> => {
  const answer = await server.inject({
    method: 'PUT',
    url: `/Patient/${resource.id}`,
    headers,
    payload: JSON.stringify({ resourceType: 'Patient', ...resource }),
  })
  assert.is(answer.statusCode, 201, answer.body)
}
const settings = { conformance: { update_as_create: true } }
/** Of the guide: the other definitions are of a few types only. */
const warnings = ({ lines }: TestServer): readonly Record<string, unknown>[] =>
  lines.filter(
    ({ level, msg, parameter }) =>
      level === 'warn' &&
      String(msg).includes('cannot be indexed') &&
      String(parameter).startsWith('http://guide.example/'),
  )

test('a choice may be named with its type behind where() of an extension', async () => {
  const server = await serverWith({
    plugins: pluginsWith(
      parameter('asserted-date', 'date', `Patient.extension.where(url = '${ASSERTED}').valueDateTime`),
      parameter('dead', 'token', 'Patient.deceasedBoolean'),
    ),
    settings,
  })
  await put(server, { id: 'a', extension: [{ url: ASSERTED, valueDateTime: '2020-05-01' }], deceasedBoolean: true })
  await put(server, { id: 'b', extension: [{ url: 'http://other', valueDateTime: '2020-05-01' }] })
  await put(server, { id: 'c', extension: [{ url: ASSERTED, valueString: '2020-05-01' }] })
  await put(server, { id: 'd', extension: [{ url: ASSERTED, valueDateTime: '2021-01-01' }] })
  assert.is(await found(server, 'asserted-date=2020-05-01'), 'a')
  assert.is(await found(server, 'asserted-date=ge2020'), 'a d')
  assert.is(await found(server, 'dead=true'), 'a')
  assert.equal(warnings(server), [])
  await server.stop()
})

test('a parameter that cannot be indexed is told once, by name and with the reason, and the others work', async () => {
  const plugins = pluginsWith(
    parameter('works', 'string', 'Patient.name.family'),
    parameter('nowhere', 'date', 'Patient.nothing.valueDateTime'),
    parameter('wrong', 'date', 'Patient.active'),
    parameter('silent', 'token', undefined),
    parameter('elsewhere', 'token', 'Spaceship.name', { base: ['Spaceship'] }),
    parameter('pair', 'composite', 'Patient', {
      component: [
        { definition: 'http://guide.example/SearchParameter/works', expression: 'name.family' },
        { definition: 'http://guide.example/SearchParameter/nowhere', expression: 'nothing' },
      ],
    }),
  )
  const place = await chosenKind.fresh(plugins)
  const first = await serverWith({ plugins, settings: { ...settings, ...place.settings } })
  const told = warnings(first)
  assert.equal(
    told.map(({ parameter }) => parameter),
    ['nowhere', 'wrong', 'silent', 'elsewhere', 'pair'].map((code) => `http://guide.example/SearchParameter/${code}`),
  )
  const reasons = told.map(({ reason }) => String(reason))
  const expected = ['Patient.nothing.valueDateTime', 'type date', 'no expression', 'Spaceship', 'component']
  for (const [at, part] of expected.entries()) assert.match(reasons[at] ?? '', part)
  await put(first, { id: 'a', name: [{ family: 'Fam' }] })
  assert.is(await found(first, 'works=fam'), 'a')
  assert.is((await first.inject('/Patient?nowhere=2020')).statusCode, 400)
  await first.stop()
  if (chosenKind.name !== 'memory') {
    const again = await serverWith({ plugins, settings: { ...settings, ...place.settings } })
    assert.equal(warnings(again), [])
    await again.stop()
  }
  await place.remove()
})

test.run()
