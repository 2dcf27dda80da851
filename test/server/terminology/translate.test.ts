/** ConceptMap/$translate. https://hl7.org/fhir/R4/conceptmap-operation-translate.html */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import terminology from '../../../plugins/terminology/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

let server: TestServer
const headers = { 'content-type': 'application/fhir+json' }
const put = async (resource: Record<string, any>): Promise<void> => {
  const url = `/${resource.resourceType}/${resource.id}`
  const answer = await server.inject({ method: 'PUT', url, headers, payload: JSON.stringify(resource) })
  assert.ok(answer.statusCode < 300, answer.body)
}
const [FROM, TO, OTHER] = ['http://from.example', 'http://to.example', 'http://other.example']
const MAP = 'http://maps.example/m'
const map = {
  resourceType: 'ConceptMap',
  id: 'm',
  url: MAP,
  version: '2',
  status: 'active',
  sourceCanonical: 'http://sets.example/from|1',
  targetCanonical: 'http://sets.example/to',
  group: [
    {
      source: FROM,
      sourceVersion: '7',
      target: TO,
      targetVersion: '9',
      element: [
        { code: 'a', display: 'The A', target: [{ code: 'A', display: 'Big A', equivalence: 'equivalent' }] },
        {
          code: 'b',
          target: [
            { code: 'B1', equivalence: 'wider' },
            { code: 'B2', equivalence: 'narrower' },
          ],
        },
        { code: 'none', target: [{ equivalence: 'unmatched', comment: 'Nothing like it' }] },
        {
          code: 'dep',
          target: [
            {
              code: 'D1',
              equivalence: 'equivalent',
              dependsOn: [{ property: 'http://e.example/sex', system: 'http://sex.example', value: 'f' }],
              product: [
                { property: 'http://e.example/part', system: 'http://p.example', value: 'arm', display: 'Arm' },
              ],
            },
            {
              code: 'D2',
              equivalence: 'equivalent',
              dependsOn: [{ property: 'http://e.example/sex', system: 'http://sex.example', value: 'm' }],
            },
          ],
        },
      ],
      unmapped: { mode: 'fixed', code: 'REST', display: 'The rest' },
    },
    {
      source: FROM,
      target: OTHER,
      element: [{ code: 'a', target: [{ code: 'o', equivalence: 'disjoint' }] }],
      unmapped: { mode: 'provided' },
    },
  ],
}
const forwarding = {
  resourceType: 'ConceptMap',
  id: 'forwarding',
  url: 'http://maps.example/forwarding',
  status: 'active',
  group: [
    {
      source: 'http://start.example',
      target: TO,
      element: [{ code: 'x', target: [{ code: 'X', equivalence: 'equal' }] }],
      unmapped: { mode: 'other-map', url: 'http://maps.example/rest' },
    },
  ],
}

test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), ...fhirPlugins, terminology],
    settings: { conformance: { update_as_create: true } },
  })
  await put(map)
  await put(forwarding)
  await put({
    ...forwarding,
    id: 'rest',
    url: 'http://maps.example/rest',
    group: [
      {
        source: 'http://start.example',
        target: TO,
        element: [{ code: 'y', target: [{ code: 'Y', equivalence: 'equal' }] }],
        unmapped: { mode: 'other-map', url: 'http://maps.example/forwarding' },
      },
    ],
  })
})
test.after(() => server.stop())

const answered = (answer: { statusCode: number; json(): any }) => {
  const body = answer.json()
  const all = (body.parameter ?? []) as any[]
  const parts = (one: any, name: string) => one.part.filter((part: any) => part.name === name)
  return {
    status: answer.statusCode,
    body,
    result: all.find(({ name }) => name === 'result')?.valueBoolean,
    message: all.find(({ name }) => name === 'message')?.valueString as string | undefined,
    matches: all
      .filter(({ name }) => name === 'match')
      .map((one) => ({
        equivalence: parts(one, 'equivalence')[0].valueCode,
        concept: parts(one, 'concept')[0]?.valueCoding,
        product: parts(one, 'product'),
        source: parts(one, 'source')[0]?.valueUri,
      })),
  }
}
const get = async (query: string, at = '/ConceptMap/$translate') => answered(await server.inject(`${at}?${query}`))
const post = async (parameter: readonly object[], at = '/ConceptMap/$translate') => {
  const payload = JSON.stringify({ resourceType: 'Parameters', parameter })
  return answered(await server.inject({ method: 'POST', url: at, headers, payload }))
}
const codes = ({ matches }: Awaited<ReturnType<typeof get>>): string =>
  matches.map(({ concept }) => concept?.code ?? '-').join()

const ASK = `url=${MAP}&system=${FROM}`

test('a code is translated by the map that url names, with equivalence, coding and canonical of the map', async () => {
  const found = await get(`${ASK}&code=a&targetsystem=${TO}`)
  assert.is(found.status, 200, JSON.stringify(found.body))
  assert.is(found.body.resourceType, 'Parameters')
  assert.is(found.result, true)
  assert.equal(found.matches, [
    {
      equivalence: 'equivalent',
      concept: { system: TO, version: '9', code: 'A', display: 'Big A' },
      product: [],
      source: `${MAP}|2`,
    },
  ])
})

test('by GET and POST, at the type and at an instance, as code, coding and codeableConcept', async () => {
  const query = `system=${FROM}&code=b&targetsystem=${TO}`
  assert.is(codes(await get(query, '/ConceptMap/m/$translate')), 'B1,B2')
  const target = { name: 'targetsystem', valueUri: TO }
  const coding = { name: 'coding', valueCoding: { system: FROM, code: 'b' } }
  assert.is(codes(await post([coding, target], '/ConceptMap/m/$translate')), 'B1,B2')
  const concept = {
    name: 'codeableConcept',
    valueCodeableConcept: { coding: [{ system: FROM, code: 'a' }, { system: FROM, code: 'b' }, { code: 'c' }] },
  }
  assert.is(codes(await post([{ name: 'url', valueUri: MAP }, concept, target])), 'A,B1,B2')
  const conceptMap = { name: 'conceptMap', resource: { ...map, id: undefined, url: 'http://maps.example/sent' } }
  const sent = await post([conceptMap, coding, target])
  assert.is(codes(sent), 'B1,B2')
  assert.is(sent.matches[0]?.source, 'http://maps.example/sent|2')
  assert.is((await get(`${query}`, '/ConceptMap/absent/$translate')).status, 404)
})

test('a map is named with a version, as url|version or conceptMapVersion', async () => {
  assert.is(codes(await get(`url=${MAP}|2&system=${FROM}&code=b&targetsystem=${TO}`)), 'B1,B2')
  assert.is(codes(await get(`${ASK}&conceptMapVersion=2&code=b&targetsystem=${TO}`)), 'B1,B2')
  const unknown = await get(`${ASK}&conceptMapVersion=3&code=b`)
  assert.is(unknown.status, 404)
  assert.match(unknown.body.issue[0].diagnostics, `${MAP}|3`)
  assert.is((await get(`url=${MAP}|2&conceptMapVersion=3&system=${FROM}&code=b`)).status, 400)
  assert.is((await get(`system=${FROM}&conceptMapVersion=2&code=b`)).status, 400)
})

test('the version of the system has to be that of the group, where both are named', async () => {
  assert.is(codes(await get(`${ASK}&version=7&code=b&targetsystem=${TO}`)), 'B1,B2')
  assert.is(codes(await get(`${ASK}&version=8&code=b&targetsystem=${TO}`)), '')
})

test('a code that is mapped to nothing, or disjoint, has a match and the result false', async () => {
  const none = await get(`${ASK}&code=none&targetsystem=${TO}`)
  assert.is(none.result, false)
  assert.equal(none.matches, [{ equivalence: 'unmatched', concept: undefined, product: [], source: `${MAP}|2` }])
  const disjoint = await get(`${ASK}&code=a&targetsystem=${OTHER}`)
  assert.is(disjoint.result, false)
  assert.is(disjoint.matches[0]?.equivalence, 'disjoint')
})

test('mappings that depend on another element are used where the request says so, and have their products', async () => {
  const ask = (value?: string) =>
    post([
      { name: 'url', valueUri: MAP },
      { name: 'coding', valueCoding: { system: FROM, code: 'dep' } },
      { name: 'targetsystem', valueUri: TO },
      ...(value === undefined
        ? []
        : [
            {
              name: 'dependency',
              part: [
                { name: 'element', valueUri: 'http://e.example/sex' },
                {
                  name: 'concept',
                  valueCodeableConcept: { coding: [{ system: 'http://sex.example', code: value }] },
                },
              ],
            },
          ]),
    ])
  const female = await ask('f')
  assert.is(codes(female), 'D1')
  assert.equal(female.matches[0]?.product, [
    {
      name: 'product',
      part: [
        { name: 'element', valueUri: 'http://e.example/part' },
        { name: 'concept', valueCoding: { system: 'http://p.example', code: 'arm', display: 'Arm' } },
      ],
    },
  ])
  assert.is(codes(await ask('m')), 'D2')
  const silent = await ask()
  assert.is(silent.result, false)
  assert.match(silent.message ?? '', 'http://e.example/sex')
})

test('codes without a mapping: a fixed code, the code itself, or what another map says', async () => {
  assert.equal((await get(`${ASK}&code=z&targetsystem=${TO}`)).matches, [
    {
      equivalence: 'relatedto',
      concept: { system: TO, version: '9', code: 'REST', display: 'The rest' },
      product: [],
      source: `${MAP}|2`,
    },
  ])
  assert.equal((await get(`${ASK}&code=z&targetsystem=${OTHER}`)).matches[0]?.concept, { system: OTHER, code: 'z' })
  const start = 'url=http://maps.example/forwarding&system=http://start.example'
  assert.is(codes(await get(`${start}&code=x`)), 'X')
  const forwarded = await get(`${start}&code=y`)
  assert.is(codes(forwarded), 'Y')
  assert.is(forwarded.matches[0]?.source, 'http://maps.example/rest')
  const circle = await get(`${start}&code=z`)
  assert.is(circle.result, false)
  assert.match(circle.message ?? '', 'leads back')
})

test('reverse: the codes that are mapped to this one, with equivalences that are read backwards', async () => {
  const found = await get(`url=${MAP}&system=${TO}&code=B1&reverse=true`)
  assert.equal(found.matches, [
    { equivalence: 'narrower', concept: { system: FROM, version: '7', code: 'b' }, product: [], source: `${MAP}|2` },
  ])
  assert.is((await get(`url=${MAP}&system=${TO}&code=A&reverse=true`)).matches[0]?.concept.display, 'The A')
  const sides = 'source=http://sets.example/to&target=http://sets.example/from'
  assert.is(codes(await get(`${sides}&system=${TO}&code=A&reverse=true`)), 'a')
})

test('without url, maps are found by the system, source and target', async () => {
  assert.is(codes(await get(`system=${FROM}&code=a&targetsystem=${TO}`)), 'A')
  assert.is(codes(await get(`system=${FROM}&code=a`)), 'A,o', 'all known translations')
  assert.is(
    codes(await get(`system=${FROM}&code=a&target=http://sets.example/to&source=http://sets.example/from`)),
    'A,o',
  )
  const elsewhere = await get(`system=${FROM}&code=a&target=http://sets.example/elsewhere`)
  assert.is(elsewhere.result, false)
  assert.match(elsewhere.message ?? '', 'No concept map here')
  const gender = 'system=http://hl7.org/fhir/administrative-gender&code=male'
  const packaged = await get(`${gender}&targetsystem=http://terminology.hl7.org/CodeSystem/v3-AdministrativeGender`)
  assert.is(codes(packaged), 'M', JSON.stringify(packaged.body))
})

test('source and target may be value sets of this server, and contradict another map', async () => {
  await put({ resourceType: 'ValueSet', id: 'to', url: 'http://sets.example/to', status: 'active' })
  assert.is(codes(await get(`system=${FROM}&code=a&target=ValueSet/to&targetsystem=${TO}`)), 'A')
  assert.is((await get(`system=${FROM}&code=a&target=ValueSet/absent`)).status, 404)
  const wrong = await get(`${ASK}&code=a&target=http://sets.example/elsewhere`)
  assert.is(wrong.status, 400)
  assert.match(wrong.body.issue[0].diagnostics, 'http://sets.example/elsewhere')
})

test('a map that was changed, retired or deleted is used as it is now', async () => {
  const changing = (target: string, status: string) => ({
    ...forwarding,
    id: 'changing',
    url: 'http://maps.example/changing',
    status,
    group: [
      {
        source: 'http://changing.example',
        target: TO,
        element: [{ code: 'c', target: [{ code: target, equivalence: 'equal' }] }],
      },
    ],
  })
  await put(changing('one', 'active'))
  const [byUrl, bySystem] = ['url=http://maps.example/changing&', ''].map(
    (url) => `${url}system=http://changing.example&code=c`,
  )
  assert.is(codes(await get(byUrl as string)), 'one')
  assert.is(codes(await get(bySystem as string)), 'one')
  await put(changing('two', 'active'))
  assert.is(codes(await get(byUrl as string)), 'two')
  assert.is(codes(await get(bySystem as string)), 'two')
  await put(changing('three', 'retired'))
  assert.is(codes(await get(byUrl as string)), 'three')
  assert.is(codes(await get(bySystem as string)), '')
  await server.inject({ method: 'DELETE', url: '/ConceptMap/changing' })
  assert.is((await get(byUrl as string)).status, 404)
})

test('what it cannot translate is refused', async () => {
  assert.is((await get(`url=${MAP}&code=a`)).status, 400, 'no system')
  assert.is((await get(`url=${MAP}&system=${FROM}`)).status, 400, 'no code')
  const two = await post([
    { name: 'code', valueCode: 'a' },
    { name: 'system', valueUri: FROM },
    { name: 'coding', valueCoding: { system: FROM, code: 'a' } },
  ])
  assert.is(two.status, 400)
  assert.match(two.body.issue[0].diagnostics, 'code and coding')
  assert.is((await get(`${ASK}&code=a&nonsense=1`)).status, 400)
})

test('/metadata lists it', async () => {
  const { rest } = (await server.inject('/metadata')).json()
  const { operation } = rest[0].resource.find(({ type }: any) => type === 'ConceptMap')
  assert.ok(operation.some(({ name }: any) => name === 'translate'))
})

test.run()
