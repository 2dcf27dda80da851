/** The definitions of packages over REST: read, searched and paged beside what is stored, and not changed. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import definitions from '../../../plugins/definitions/index.ts'
import terminology from '../../../plugins/terminology/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { moreDefinitions } from '../../support/more-definitions.ts'
import { scopedCallers } from '../../support/scoped-callers.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

const FHIR = { 'content-type': 'application/fhir+json' }
const OWN = 'http://guide.example/ValueSet/own'
const TAG = 'http://hl7.org/fhir/StructureDefinition/package-source'
const more = [
  {
    ...{ resourceType: 'ValueSet', id: 'own', url: OWN, version: '1.0', name: 'Own', status: 'active' },
    meta: { profile: ['http://hl7.org/fhir/StructureDefinition/shareablevalueset'], tag: [{ code: 'kept' }] },
    compose: { include: [{ system: 'http://hl7.org/fhir/administrative-gender', concept: [{ code: 'male' }] }] },
  },
  {
    ...{ resourceType: 'Questionnaire', id: 'form', url: 'http://guide.example/Questionnaire/form', status: 'active' },
    item: [{ linkId: '1', type: 'choice', answerValueSet: OWN }],
  },
]
const guide = moreDefinitions(stubDefinitions('all'), 'example.guide', '1.2.0', more, { isKept: true })
const plugins = [database, guide, ...fhirPlugins, definitions, terminology]

let shared: TestServer
test.before(async () => {
  shared = await serverWith({ plugins, settings: { conformance: { update_as_create: true } } })
})
test.after(() => shared.stop())
/** Tests that need an empty server stand before those that store. */
const withServer = (work: (server: TestServer) => Promise<void>): Promise<void> => work(shared)
const get = async (server: TestServer, url: string, status = 200): Promise<any> => {
  const answer = await server.inject({ method: 'GET', url })
  assert.is(answer.statusCode, status, `${url}: ${answer.body.slice(0, 300)}`)
  return answer.json()
}
const send = async (server: TestServer, method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', url: string, body?: object) => {
  const payload = body === undefined ? undefined : JSON.stringify(body)
  return server.inject({ method, url, headers: FHIR, ...(payload === undefined ? {} : { payload }) })
}
const resources = (bundle: any): any[] => (bundle.entry ?? []).map(({ resource }: any) => resource)
const hrefOf = (bundle: any, relation: string): string | undefined => {
  const url = bundle.link.find((link: any) => link.relation === relation)?.url
  return url && new URL(url).pathname + new URL(url).search
}
/** All pages of a search, in order. */
const pagesOf = async (server: TestServer, url: string): Promise<any[][]> => {
  const pages: any[][] = []
  for (let next: string | undefined = url; next !== undefined; ) {
    const bundle: any = await get(server, next)
    pages.push(resources(bundle))
    next = hrefOf(bundle, 'next')
  }
  return pages
}
const stored = (url: string, name: string) => ({ resourceType: 'ValueSet', url, name, status: 'draft' })

test('histories, searches of all types and conditional changes see what is stored only', () =>
  withServer(async (server) => {
    assert.is((await get(server, '/_history')).entry, undefined)
    assert.is((await get(server, '/ValueSet/_history')).entry, undefined)
    assert.is((await get(server, '/?_type=ValueSet,CodeSystem')).entry, undefined)
    assert.is((await send(server, 'DELETE', `/ValueSet?url=${OWN}`)).statusCode, 204)
    assert.is((await get(server, `/ValueSet?url=${OWN}`)).total, 1)
  }))

test('a definition is found by its url, marked with its package, and read by its id', () =>
  withServer(async (server) => {
    const bundle = await get(server, '/StructureDefinition?url=http://hl7.org/fhir/StructureDefinition/Patient')
    const [patient] = resources(bundle)
    assert.is(bundle.total, 1)
    assert.is(patient.name, 'Patient')
    assert.equal(patient.meta.tag.at(-1), { system: TAG, code: 'hl7.fhir.r4.examples' })
    assert.match(bundle.entry[0].fullUrl, new RegExp(`/StructureDefinition/${patient.id}$`))
    const read = await server.inject({ method: 'GET', url: `/StructureDefinition/${patient.id}` })
    assert.equal(read.json(), patient)
    assert.is(read.headers.etag, 'W/"1"')
    assert.equal(await get(server, `/StructureDefinition/${patient.id}/_history/1`), patient)
    await get(server, `/StructureDefinition/${patient.id}/_history/2`, 404)
    const history = await get(server, `/StructureDefinition/${patient.id}/_history`)
    assert.equal(resources(history), [patient])
    const [own] = resources(await get(server, `/ValueSet?url=${OWN}`))
    assert.equal(own.meta.tag, [{ code: 'kept' }, { system: TAG, code: 'example.guide@1.2.0' }])
    assert.equal(own.meta.profile, ['http://hl7.org/fhir/StructureDefinition/shareablevalueset'])
    assert.is(own.meta.versionId, '1')
    await get(server, '/ValueSet/pkg-00000000000000000000000000000000', 404)
    await get(server, `/CodeSystem/${own.id}`, 404)
  }))

test('all parameters of a type find definitions; ids are the same in another database, where grants apply to them', async () => {
  let id = ''
  await withServer(async (server) => {
    const [own] = resources(await get(server, `/ValueSet?url=${OWN}`))
    id = own.id
    const names = async (query: string): Promise<string[]> =>
      resources(await get(server, `/ValueSet?${query}&_count=1000`)).map(({ name }) => name)
    assert.equal(await names(`_id=${id}`), ['Own'])
    assert.equal(await names(`url=${OWN}&version=1.0`), ['Own'])
    assert.equal(await names(`url=${OWN}&version=2.0`), [])
    assert.equal(await names('name=own&status=active'), ['Own'])
    assert.equal(await names('url:below=http://guide.example/ValueSet'), ['Own'])
    assert.equal(await names(`_tag=${TAG}|example.guide@1.2.0`), ['Own'])
    assert.equal(await names('name=own&_lastUpdated=gt2100'), [])
    assert.equal((await names('name=AdministrativeGender')).length, 1)
    const count = await get(server, '/StructureDefinition?type=Extension&kind=complex-type&_summary=count')
    assert.ok(count.total > 300, String(count.total))
    assert.is(count.entry, undefined)
    const post = await server.inject({
      ...{ method: 'POST', url: '/ValueSet/_search', payload: 'name=Own' },
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
    assert.is(post.json().total, 1)
    const bad = await get(server, '/ValueSet?nothing=1', 400)
    assert.is(bad.resourceType, 'OperationOutcome')
  })
  const other = await serverWith({ plugins: [...plugins, scopedCallers] })
  const asked = async (scope: string, url: string) =>
    other.inject({ method: 'GET', url, headers: { 'x-test-scope': scope } })
  const found = async (scope: string): Promise<number> => (await asked(scope, `/ValueSet?url=${OWN}`)).json().total
  try {
    assert.is((await asked('system/ValueSet.rs', `/ValueSet/${id}`)).json().name, 'Own')
    assert.is((await asked('system/ValueSet.rs?status=active', `/ValueSet/${id}`)).statusCode, 200)
    assert.is((await asked('system/ValueSet.rs?status=draft', `/ValueSet/${id}`)).statusCode, 404)
    assert.is((await asked('system/CodeSystem.rs', `/ValueSet/${id}`)).statusCode, 403)
    assert.is(await found('system/ValueSet.rs'), 1)
    assert.is(await found('system/ValueSet.rs?status=draft'), 0)
    assert.is((await asked('system/CodeSystem.rs', `/ValueSet?url=${OWN}`)).statusCode, 403)
  } finally {
    await other.stop()
  }
})

test('pages in any order hold stored resources and definitions once each, forwards and backwards', () =>
  withServer(async (server) => {
    for (const [url, name] of [
      ['http://a.example/1', 'AAA'],
      ['http://a.example/2', 'Mmm'],
      ['http://z.example/3', 'zzz'],
      ['http://z.example/4', 'AdministrativeGender'],
    ] as const)
      assert.is(
        (await send(server, 'POST', '/ConceptMap', { ...stored(url, name), resourceType: 'ConceptMap' })).statusCode,
        201,
      )
    const { total } = await get(server, '/ConceptMap?_summary=count')
    const order = async (sort: string, count: number): Promise<string[]> => {
      const pages = await pagesOf(server, `/ConceptMap?_count=${count}${sort === '' ? '' : `&_sort=${sort}`}`)
      const ids = pages.flat().map((one) => one.id)
      assert.is(new Set(ids).size, total, sort)
      assert.is(ids.length, total, sort)
      return ids
    }
    for (const sort of ['', 'name', '-name', 'url', '-date', 'status,-name', '_lastUpdated', '-_id'])
      assert.equal(await order(sort, 13), await order(sort, 1000), sort)
    const sorted = resources(await get(server, '/ConceptMap?_sort=name&_count=1000')).map(({ name }) =>
      name.toLowerCase(),
    )
    assert.equal(sorted, [...sorted].sort())
    const newest = resources(await get(server, '/ConceptMap?_count=4'))
    assert.equal(
      newest.map(({ url }) => url),
      ['http://z.example/4', 'http://z.example/3', 'http://a.example/2', 'http://a.example/1'],
    )
    const first = await get(server, '/ConceptMap?_count=3&_sort=name')
    const second = await get(server, hrefOf(first, 'next') as string)
    const third = await get(server, hrefOf(second, 'next') as string)
    const back = await get(server, hrefOf(third, 'previous') as string)
    assert.equal(resources(back), resources(second))
    assert.equal(resources(await get(server, hrefOf(back, 'previous') as string)), resources(first))
  }))

test('a definition cannot be changed, nor its id be used, in any way', () =>
  withServer(async (server) => {
    const [own] = resources(await get(server, `/ValueSet?url=${OWN}`))
    const url = `/ValueSet/${own.id}`
    const refused = async (answer: Promise<{ statusCode: number; body: string }>): Promise<void> => {
      const { statusCode, body } = await answer
      assert.is(statusCode, 405, body)
      assert.match(body, 'definition of an installed package')
    }
    await refused(send(server, 'PUT', url, own))
    await refused(send(server, 'DELETE', url))
    const patch = [{ op: 'replace', path: '/name', value: 'Other' }]
    await refused(
      server.inject({
        ...{ method: 'PATCH', url, payload: JSON.stringify(patch) },
        headers: { 'content-type': 'application/json-patch+json' },
      }),
    )
    const meta = { resourceType: 'Parameters', parameter: [{ name: 'meta', valueMeta: { tag: [{ code: 'x' }] } }] }
    await refused(send(server, 'POST', `${url}/$meta-add`, meta))
    await refused(send(server, 'PUT', '/ValueSet?url=http://none.example', own))
    const entry = [{ resource: own, request: { method: 'PUT', url: `ValueSet/${own.id}` } }]
    await refused(send(server, 'POST', '/', { resourceType: 'Bundle', type: 'transaction', entry }))
    const free = 'pkg-00000000000000000000000000000000'
    await refused(send(server, 'PUT', `/ValueSet/${free}`, { ...own, id: free }))
    assert.equal(await get(server, url), own)
    // Other types may have such ids.
    const patient = { resourceType: 'Patient', id: free }
    assert.is((await send(server, 'PUT', `/Patient/${free}`, patient)).statusCode, 201)
  }))

test('a search that only the index can decide leaves definitions out, and says so', () =>
  withServer(async (server) => {
    const bundle = await get(server, '/ValueSet?_content=gender')
    assert.equal(
      bundle.entry.map(({ search }: any) => search.mode),
      ['outcome'],
    )
    assert.match(bundle.entry[0].resource.issue[0].diagnostics, 'definitions of installed packages are left out')
  }))

test('includes follow canonicals among definitions, and from what is stored to them', () =>
  withServer(async (server) => {
    const base = 'http://hl7.org/fhir/StructureDefinition'
    const named = (bundle: any): string[] =>
      bundle.entry.map(({ resource, search }: any) => `${search.mode} ${resource.name}`)
    const one = await get(server, `/StructureDefinition?url=${base}/Patient&_include=StructureDefinition:base`)
    assert.equal(named(one), ['match Patient', 'include DomainResource'])
    const all = await get(server, `/StructureDefinition?url=${base}/Patient&_include:iterate=StructureDefinition:base`)
    assert.equal(named(all), ['match Patient', 'include DomainResource', 'include Resource'])
    const back = await get(server, `/StructureDefinition?url=${base}/vitalsigns&_revinclude=StructureDefinition:base`)
    assert.ok(named(back).includes('include observation-bmi'), String(named(back)))
    const profile = {
      ...{ resourceType: 'StructureDefinition', url: 'http://a.example/p', name: 'Mine', status: 'active' },
      ...{ kind: 'resource', abstract: false, type: 'Patient', baseDefinition: `${base}/Patient` },
      derivation: 'constraint',
    }
    assert.is((await send(server, 'POST', '/StructureDefinition', profile)).statusCode, 201)
    const mine = await get(server, '/StructureDefinition?name=Mine&_include=StructureDefinition:base')
    assert.equal(named(mine), ['match Mine', 'include Patient'])
  }))

test('entries of batches and transactions read and find definitions', () =>
  withServer(async (server) => {
    const [own] = resources(await get(server, `/ValueSet?url=${OWN}`))
    for (const type of ['batch', 'transaction']) {
      const urls = [`ValueSet/${own.id}`, `ValueSet?url=${OWN}`]
      const entry = urls.map((url) => ({ request: { method: 'GET', url } }))
      const patient = { resource: { resourceType: 'Patient' }, request: { method: 'POST', url: 'Patient' } }
      const bundle = { resourceType: 'Bundle', type, entry: [...entry, patient] }
      const answer = await send(server, 'POST', '/', bundle)
      assert.is(answer.statusCode, 200, answer.body)
      const [read, found] = answer.json().entry
      assert.is(read.resource.name, 'Own', type)
      assert.is(found.resource.total, 1, type)
    }
  }))

test('what is stored is shown beside the definition with its url, and operations use it', () =>
  withServer(async (server) => {
    const own = { ...stored(OWN, 'Mine'), status: 'active', version: '1.0' }
    const include = [{ system: 'http://hl7.org/fhir/administrative-gender', concept: [{ code: 'female' }] }]
    const codes = async (url: string): Promise<string[]> =>
      (await get(server, url)).expansion.contains.map(({ code }: any) => code)
    const [definition] = resources(await get(server, `/ValueSet?url=${OWN}`))
    assert.equal(await codes(`/ValueSet/${definition.id}/$expand`), ['male'])
    assert.equal(await codes(`/ValueSet/$expand?url=${OWN}`), ['male'])
    // An installed definition is no match of a conditional create.
    const answer = await server.inject({
      ...{ method: 'POST', url: '/ValueSet', payload: JSON.stringify({ ...own, compose: { include } }) },
      headers: { ...FHIR, 'if-none-exist': `url=${OWN}` },
    })
    assert.is(answer.statusCode, 201)
    assert.equal(
      resources(await get(server, `/ValueSet?url=${OWN}`)).map(({ name }) => name),
      ['Mine', 'Own'],
    )
    assert.equal(await codes(`/ValueSet/$expand?url=${OWN}`), ['female'])
    assert.equal(await codes(`/ValueSet/${definition.id}/$expand`), ['male'])
    const valid = await get(
      server,
      `/ValueSet/${definition.id}/$validate-code?system=http://hl7.org/fhir/administrative-gender&code=male`,
    )
    assert.is(valid.parameter.find(({ name }: any) => name === 'result').valueBoolean, true)
  }))

test.run()
