/**
 * A Binary is hidden from whoever may not read the resource that its securityContext names, in every interaction.
 * https://hl7.org/fhir/R4/binary-definitions.html#Binary.securityContext
 */
// npm test: postgres, which is asked statements here that no other file asks
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { ALL, definePlugin, type Restriction } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import references from '../../../plugins/references/index.ts'
import validation from '../../../plugins/validation/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

type Json = Record<string, any>
type Headers = Record<string, string>

const FHIR_JSON = 'application/fhir+json'
const JSON_PATCH = 'application/json-patch+json'

/** All types are granted, of patients one: what is hidden of the Binaries is hidden by their security contexts. */
const OWN_PATIENT: Restriction = {
  types: { Patient: [{ rights: 'rs', compartment: { type: 'Patient', id: 'own' } }] },
  others: [ALL],
}
/** No patients at all. */
const BINARIES: Restriction = { types: { Binary: [ALL], List: [ALL] }, others: [] }
/** Patients by what only the index can tell. */
const BY_INDEX: Restriction = {
  types: { Patient: [{ rights: 'rs', query: '_has:Observation:subject:status=final' }] },
  others: [ALL],
}

let server: TestServer
let restrictions: readonly Restriction[] = []

const ask = async (method: string, url: string, body?: Json | string, headers: Headers = {}) => {
  const payload = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
  const answer = await server.inject({
    method: method as 'GET',
    url,
    headers: { ...(payload === undefined ? {} : { 'content-type': FHIR_JSON }), ...headers },
    ...(payload === undefined ? {} : { payload }),
  })
  assert.ok(answer.statusCode < 500, `${method} ${url}: ${answer.body}`)
  return answer
}
const restricted = async <T>(given: readonly Restriction[], work: () => Promise<T>): Promise<T> => {
  restrictions = given
  try {
    return await work()
  } finally {
    restrictions = []
  }
}
const store = async (resource: Json): Promise<void> => {
  const answer = await ask('PUT', `/${resource.resourceType}/${resource.id}`, resource)
  assert.ok(answer.statusCode < 300, answer.body)
}
const binary = (id: string, context?: string, more: Json = {}): Json => ({
  resourceType: 'Binary',
  id,
  contentType: 'text/plain',
  ...(context === undefined ? {} : { securityContext: { reference: context } }),
  data: Buffer.from(`content of ${id}`).toString('base64'),
  ...more,
})
const idsOf = async (url: string): Promise<readonly string[]> => {
  const found: string[] = []
  let next: string | undefined = url
  while (next !== undefined) {
    const answer = await ask('GET', next)
    assert.is(answer.statusCode, 200, answer.body)
    const { entry = [], link = [] } = answer.json() as Json
    found.push(...entry.map(({ resource }: Json) => resource.id))
    const more = link.find((one: Json) => one.relation === 'next')?.url as string | undefined
    next = more?.slice(more.indexOf('/', 8))
  }
  return found.sort()
}

const HIDDEN = ['other', 'absolute', 'nested', 'elsewhere']
const SEEN = ['free', 'own', 'practice']

test.before(async () => {
  const gate = definePlugin({
    name: 'gate',
    setup({ hooks }) {
      hooks.authorize.tap('restrict', (_request, _interaction, ruling) => {
        for (const one of restrictions) ruling.restrict(one)
      })
    },
  })
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), validation, gate, references, ...fhirPlugins],
    settings: {
      server: { public_url: 'http://localhost:80' },
      conformance: { update_as_create: true, reference_policy: 'fhir' },
    },
  })
  for (const id of ['own', 'other']) await store({ resourceType: 'Patient', id })
  await store({ resourceType: 'Organization', id: 'practice', name: 'Practice' })
  await store({
    resourceType: 'Observation',
    id: 'o',
    status: 'final',
    code: { text: 'x' },
    subject: { reference: 'Patient/own' },
  })
  await store(binary('free'))
  await store(binary('own', 'Patient/own'))
  await store(binary('practice', 'Organization/practice'))
  await store(binary('other', 'Patient/other'))
  await store(binary('other', 'Patient/other', { language: 'en' }))
  await store(binary('absolute', 'http://localhost:80/Patient/other'))
  await store(binary('nested', 'Binary/other'))
  await store(binary('elsewhere', 'http://example.org/fhir/Patient/own'))
  await store({
    resourceType: 'List',
    id: 'list',
    status: 'current',
    mode: 'working',
    subject: { reference: 'Patient/own' },
    entry: [...SEEN, ...HIDDEN].map((id) => ({ item: { reference: `Binary/${id}` } })),
  })
})
test.after(() => server.stop())

test('who sees everything sees every Binary', async () => {
  assert.equal(await idsOf('/Binary'), [...SEEN, ...HIDDEN].sort())
  assert.is((await ask('GET', '/Binary/other')).body, 'content of other')
})

test('reads of a hidden Binary are answered as of one that never was', async () => {
  await restricted([OWN_PATIENT], async () => {
    // Twice: the second time they are in memory.
    for (const _time of [1, 2]) {
      for (const id of SEEN) assert.is((await ask('GET', `/Binary/${id}`)).body, `content of ${id}`)
      for (const id of HIDDEN)
        for (const path of ['', '/_history/1', '/_history', '/$meta'])
          for (const headers of [{}, { accept: FHIR_JSON }, { 'if-none-match': '*' }] as Headers[]) {
            const [one, none] = [
              await ask('GET', `/Binary/${id}${path}`, undefined, headers),
              await ask('GET', `/Binary/never${path}`, undefined, headers),
            ]
            assert.is(one.statusCode, 404, `${id}${path}`)
            assert.is(one.body.replaceAll(id, 'never'), none.body, `${id}${path}`)
            assert.is(one.headers.etag, undefined)
          }
    }
    assert.is((await ask('HEAD', '/Binary/other')).statusCode, 404)
  })
})

test('searches, counts, histories, includes and records leave hidden ones out', async () => {
  await restricted([OWN_PATIENT], async () => {
    for (const url of ['/Binary', '/Binary?_count=1', '/Binary?_sort=_lastUpdated&_count=2', '/?_type=Binary'])
      assert.equal(await idsOf(url), SEEN, url)
    assert.equal(await idsOf('/Binary?_id=other'), [])
    assert.equal(await idsOf('/Binary?_id=other,own'), ['own'])
    assert.is(((await ask('GET', '/Binary?_summary=count')).json() as Json).total, SEEN.length)
    assert.is(((await ask('GET', '/Binary?_total=accurate&_count=1')).json() as Json).total, SEEN.length)
    for (const url of ['/Binary/_history', '/Binary/_history?_count=1']) assert.equal(await idsOf(url), SEEN, url)
    const everything = (await idsOf('/_history')).filter((id) => [...SEEN, ...HIDDEN].includes(id))
    assert.equal([...new Set(everything)], SEEN)
    const without = (ids: readonly string[]) => ids.filter((id) => id !== 'list')
    assert.equal(without(await idsOf('/List?_include=List:item')), SEEN)
    const record = (await idsOf('/Patient/own/$everything')).filter((id) => !['list', 'o'].includes(id))
    // The patient and the Binary of the same id.
    assert.equal(record, [...SEEN, 'own'].sort())
    assert.equal(await idsOf('/List?item:Binary._id=other'), [])
    assert.equal(await idsOf('/List?item:Binary._id=own'), ['list'])
  })
})

test('changes of a hidden Binary find nothing', async () => {
  await restricted([OWN_PATIENT], async () => {
    const patch = JSON.stringify([{ op: 'replace', path: '/contentType', value: 'text/html' }])
    for (const headers of [{}, { 'if-match': 'W/"2"' }, { 'if-match': 'W/"7"' }] as Headers[])
      for (const id of [...HIDDEN, 'never']) {
        const url = `/Binary/${id}`
        for (const answer of [
          await ask('PUT', url, binary(id), headers),
          await ask('PUT', url, 'raw', { ...headers, 'content-type': 'text/plain' }),
          await ask('PATCH', url, patch, { ...headers, 'content-type': JSON_PATCH }),
          await ask('DELETE', url, undefined, headers),
        ])
          assert.is(answer.statusCode, 404, `${id} ${JSON.stringify(headers)} ${answer.body}`)
      }
    assert.is((await ask('DELETE', '/Binary?_id=other')).statusCode, 204)
    assert.is((await ask('PATCH', '/Binary?_id=other', patch, { 'content-type': JSON_PATCH })).statusCode, 404)
    const exists = { 'content-type': 'text/plain', 'if-none-exist': '_id=other', prefer: 'return=minimal' }
    const created = await ask('POST', '/Binary', 'mine', exists)
    assert.is(created.statusCode, 201, created.body)
    await ask('DELETE', new URL(created.headers.location as string).pathname.replace(/\/_history.*/, ''))
    for (const type of ['batch', 'transaction']) {
      const entry = [{ request: { method: 'DELETE', url: 'Binary/other' } }]
      const answer = await ask('POST', '/', { resourceType: 'Bundle', type, entry })
      assert.match(answer.body, /not-found/)
    }
  })
  assert.is((await ask('GET', '/Binary/other')).headers.etag, 'W/"2"')
})

test('a Binary that is seen can be changed, and its own security context be used', async () => {
  await restricted([OWN_PATIENT], async () => {
    const headers = { 'content-type': 'text/plain', 'x-security-context': 'Patient/own' }
    const created = await ask('POST', '/Binary', 'mine', headers)
    assert.is(created.statusCode, 201, created.body)
    const { id } = created.json() as Json
    assert.is((await ask('GET', `/Binary/${id}`)).body, 'mine')
    const updated = await ask('PUT', `/Binary/${id}`, 'yours', { ...headers, 'if-match': 'W/"1"' })
    assert.is(updated.statusCode, 200, updated.body)
    const patch = JSON.stringify([{ op: 'replace', path: '/contentType', value: 'text/html' }])
    assert.is((await ask('PATCH', `/Binary/${id}`, patch, { 'content-type': JSON_PATCH })).statusCode, 200)
    assert.is((await ask('DELETE', `/Binary/${id}`)).statusCode, 204)
    assert.is((await ask('GET', `/Binary/${id}`)).statusCode, 410)
    assert.is((await ask('GET', `/Binary/${id}/_history/2`)).body, 'yours')
  })
})

test('each version is decided on by its own security context', async () => {
  await store(binary('moved', 'Patient/other'))
  await store(binary('moved', 'Patient/own'))
  await restricted([OWN_PATIENT], async () => {
    assert.is((await ask('GET', '/Binary/moved')).statusCode, 200)
    assert.is((await ask('GET', '/Binary/moved/_history/2')).statusCode, 200)
    assert.is((await ask('GET', '/Binary/moved/_history/1')).statusCode, 404)
    assert.equal(await idsOf('/Binary/moved/_history'), ['moved'])
  })
  await ask('DELETE', '/Binary/moved')
})

test('other rulings: closed types, and what only the index tells', async () => {
  await restricted([BINARIES], async () => {
    assert.equal(await idsOf('/Binary'), ['free'])
    assert.is((await ask('GET', '/Binary/free')).statusCode, 200)
    for (const id of ['own', 'practice', ...HIDDEN]) assert.is((await ask('GET', `/Binary/${id}`)).statusCode, 404, id)
  })
  await restricted([BY_INDEX], async () => {
    assert.equal(await idsOf('/Binary'), SEEN)
    assert.is((await ask('GET', '/Binary/own')).statusCode, 200)
    assert.is((await ask('GET', '/Binary/other')).statusCode, 404)
  })
  await restricted([OWN_PATIENT, BINARIES], async () => assert.equal(await idsOf('/Binary'), ['free']))
})

test('a security context that names no resource is refused', async () => {
  for (const securityContext of [
    { display: 'x' },
    { identifier: { system: 'http://i', value: '1' } },
    { reference: '#x' },
    { reference: 'urn:uuid:0d6d1f4e-3a3c-4f0e-9f0a-1a2b3c4d5e6f' },
  ]) {
    const answer = await ask('POST', '/Binary', { resourceType: 'Binary', contentType: 'a/b', securityContext })
    assert.is(answer.statusCode, 422, JSON.stringify(securityContext))
    assert.match(answer.body, /Binary\.securityContext/)
  }
})

test.run()
