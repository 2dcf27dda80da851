/**
 * Large code systems: the same answers before and behind their way into the index, pages through all of their codes, and
 * what becomes of the index when they change. https://hl7.org/fhir/R4/valueset-operation-expand.html
 */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnyPlugin, definePlugin } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import { Database, sql } from '../../../plugins/database/service.ts'
import terminology from '../../../plugins/terminology/index.ts'
import { TerminologyIndex } from '../../../plugins/terminology/service.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { LARGE, largeCodeSystem } from '../../support/large-code-system.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { terminologyDefinitions } from '../../support/terminology-definitions.ts'

type Json = Record<string, any>

const COUNT = 2_600
const SETS = 'http://sets.example/'
const headers = { 'content-type': 'application/fhir+json' }
const systems = sql('test.systems', 'SELECT source, name, edition, state, size FROM tx_system ORDER BY id')

const open = async (plugin: AnyPlugin = terminology): Promise<TestServer> =>
  serverWith({
    plugins: [database, terminologyDefinitions(), ...fhirPlugins, plugin],
    settings: { conformance: { update_as_create: true } },
  })
const put = async (server: TestServer, resource: Json): Promise<void> => {
  const url = `/${resource.resourceType}/${resource.id}`
  const answer = await server.inject({ method: 'PUT', url, headers, payload: JSON.stringify(resource) })
  assert.ok(answer.statusCode < 300, answer.body)
}
const valueSet = (id: string, compose: Json, more: Json = {}): Json => ({
  resourceType: 'ValueSet',
  ...{ id, url: SETS + id, status: 'active', compose },
  ...more,
})
const rowsOf = async (server: TestServer): Promise<string> =>
  (await server.get(Database).all<Json>(systems, []))
    .map(({ source, name, edition, state, size }) => `${source} ${name} ${edition} ${state} ${size}`)
    .join('; ')
/** An answer; of a search only the number and the codes of what was found. */
const get = async (server: TestServer, url: string): Promise<Json> => {
  const { statusCode, body } = await server.inject(url)
  const json = JSON.parse(body) as Json
  if (json.resourceType === 'Bundle')
    return { statusCode, total: json.total, ids: json.entry?.map((one: Json) => one.resource.id).sort() }
  if (json.expansion?.timestamp !== undefined) delete json.expansion.timestamp
  return { statusCode, json }
}

const isA = (value: string, op = 'is-a'): Json => ({ system: LARGE, filter: [{ property: 'concept', op, value }] })
const filter = (property: string, op: string, value: string): Json => ({
  system: LARGE,
  filter: [{ property, op, value }],
})
const VALUE_SETS: readonly Json[] = [
  valueSet('all', { include: [{ system: LARGE }] }),
  valueSet('active', { inactive: false, include: [isA('C2')] }),
  valueSet('below', { include: [isA('C2', 'descendent-of')] }),
  valueSet('above', { include: [isA('C2345', 'generalizes')] }),
  valueSet('not', { include: [isA('C2', 'is-not-a')] }),
  valueSet('both', {
    include: [{ ...isA('C2'), filter: [...isA('C2').filter, ...filter('group', '=', 'g3').filter] }],
  }),
  valueSet('less', { include: [isA('C2')], exclude: [isA('C21'), { system: LARGE, concept: [{ code: 'C22' }] }] }),
  valueSet('nested', { include: [{ valueSet: [`${SETS}less`, `${SETS}group`] }] }),
  valueSet('group', { include: [filter('group', 'in', 'g1,g2')] }),
  valueSet('pattern', { include: [filter('code', 'regex', 'C1[0-9]')] }),
  valueSet('words', { include: [filter('display', 'regex', 'acute .*')] }),
  valueSet('listed', {
    include: [{ system: LARGE, concept: [{ code: 'C5', display: 'five' }, { code: 'C7' }, { code: 'none' }] }],
  }),
  valueSet('list-and-more', { include: [{ system: LARGE, concept: [{ code: 'C2', display: 'two' }] }, isA('C2')] }),
  valueSet('beside', { include: [{ system: 'http://hl7.org/fhir/administrative-gender' }, isA('C25')] }),
  valueSet('unknown', { include: [isA('none')] }),
  valueSet(
    'translated',
    { include: [isA('C2')] },
    {
      extension: [
        {
          url: 'http://hl7.org/fhir/StructureDefinition/valueset-supplement',
          valueCanonical: 'http://supplement.example',
        },
      ],
    },
  ),
]
const EXPAND = VALUE_SETS.map(({ url }) => `/ValueSet/$expand?url=${url}&count=60`)
const ASKED: readonly string[] = [
  ...EXPAND,
  ...VALUE_SETS.map(({ url }) => `/ValueSet/$expand?url=${url}&filter=fev&offset=3&count=20`),
  ...['activeOnly=true', 'excludeNotForUI=true', 'includeDesignations=true', 'displayLanguage=de'].flatMap((more) =>
    ['all', 'less', 'translated'].map((id) => `/ValueSet/$expand?url=${SETS}${id}&count=30&offset=5&${more}`),
  ),
  ...['fev ac', 'Acute fev', 'ac fev x', 'C2 acute', 'acute c23'].flatMap((words) => [
    `/ValueSet/$expand?url=${SETS}all&filter=${words}&count=20`,
    `/ValueSet/$expand?url=${SETS}translated&displayLanguage=fr&filter=${words}&count=20`,
  ]),
  `/ValueSet/$expand?url=${SETS}all&displayLanguage=de&filter=be 1&count=5`,
  `/ValueSet/$expand?url=${SETS}all&displayLanguage=de&filter=begriff&count=5`,
  `/ValueSet/$expand?url=${SETS}translated&displayLanguage=fr&filter=mot&count=5`,
  `/ValueSet/$expand?url=${SETS}translated&displayLanguage=fr&filter=acute&count=500`,
  `/ValueSet/$expand?url=${SETS}less&excludeNested=false`,
  `/ValueSet/$expand?url=${SETS}all&exclude-system=${LARGE}`,
  '/ValueSet/less/$expand?count=3&offset=100',
  ...['C2', 'C21', 'C22', 'C2345', 'none', 'c2'].flatMap((code) => [
    ...['all', 'less', 'above', 'listed', 'nested', 'translated'].map(
      (id) => `/ValueSet/$validate-code?url=${SETS}${id}&system=${LARGE}&code=${code}`,
    ),
    `/CodeSystem/$validate-code?url=${LARGE}&code=${code}`,
    `/CodeSystem/$lookup?system=${LARGE}&code=${code}`,
    `/CodeSystem/$subsumes?system=${LARGE}&codeA=C2&codeB=${code}`,
    `/CodeSystem/large/$subsumes?codeA=${code}&codeB=C2`,
  ]),
  `/CodeSystem/$lookup?system=${LARGE}&code=C25&displayLanguage=de&property=parent`,
  `/ValueSet/$validate-code?url=${SETS}all&system=${LARGE}&code=C10&display=Begriff 10&displayLanguage=de`,
  `/ValueSet/$validate-code?url=${SETS}all&system=${LARGE}&systemVersion=2&code=C10`,
  `/CodeSystem/$validate-code?url=${LARGE}&code=C100&abstract=false`,
  `/Observation?code:in=${SETS}less`,
  `/Observation?code:in=${SETS}all&_summary=count`,
  `/Observation?code:not-in=${SETS}group&_summary=count`,
  `/Observation?code:below=${LARGE}|C23`,
  `/Observation?code:above=${LARGE}|C2345`,
  `/Observation?code:below=${LARGE}|none`,
].map((url) => encodeURI(url))

const observation = (code: string): Json => ({
  resourceType: 'Observation',
  id: `o-${code}`,
  status: 'final',
  code: { coding: [{ system: LARGE, code }] },
})

/** The same plugin, which puts nothing into the index. */
const inMemory = definePlugin({
  ...terminology,
  setup(host) {
    terminology.setup(host)
    return undefined
  },
})

/** What the value sets and searches are about; resolves when all of it is in the index. */
const fill = async (server: TestServer): Promise<void> => {
  await put(server, largeCodeSystem(COUNT))
  await put(server, {
    ...{ resourceType: 'CodeSystem', id: 'supplement', url: 'http://supplement.example', status: 'active' },
    ...{ content: 'supplement', supplements: LARGE },
    concept: [{ code: 'C23', designation: [{ language: 'fr', value: 'Mot' }] }],
  })
  for (const one of VALUE_SETS) await put(server, one)
  for (const code of ['C2', 'C22', 'C231', 'C1', 'C234']) await put(server, observation(code))
  await server.get(TerminologyIndex).idle()
}

test('a large code system is answered in the same way from memory and from the index', async () => {
  const [server, reference] = [await open(), await open(inMemory)]
  for (const one of [server, reference]) await fill(one)
  assert.is(await rowsOf(server), `stored large 1 ready ${COUNT}`)
  assert.is(await rowsOf(reference), '')
  for (const url of ASKED) assert.equal(await get(server, url), await get(reference, url), url)
  await server.stop()
  await reference.stop()
})

test.run()
