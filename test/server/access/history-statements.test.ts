/** A page of a history takes few statements, however many versions are hidden and whatever decides on them. */
import { createCipheriv } from 'node:crypto'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin, type Restriction } from '../../../kernel/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { postTransaction } from '../../support/post-bundle.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'
import { watchedDatabase } from '../../support/watched-database.ts'

type Json = Record<string, unknown>

const HIDDEN = 150 // resources of each kind
const MOST_STATEMENTS = 90
const LARGE = 1_500_000 // bytes
const OPEN = { system: 'http://t', code: 'open' }

/** Only the index decides on Observations. */
const BY_INDEX: Restriction = {
  types: {
    Observation: [{ rights: 'cruds', query: 'subject:Patient.active=true' }],
    Patient: [{ rights: 'rs', query: '_has:Observation:patient:_tag=http://t|open' }],
    Binary: [{ rights: 'rs' }],
  },
  others: [],
}
const BY_CONTENT: Restriction = {
  types: { Binary: [{ rights: 'rs' }] },
  others: [{ rights: 'rs', query: '_tag=http://t|open' }],
}

let restriction: Restriction | undefined
const gate = definePlugin({
  name: 'gate',
  setup({ hooks }) {
    hooks.authorize.tap('restrict', (_request, _interaction, ruling) => {
      if (restriction !== undefined) ruling.restrict(restriction)
    })
  },
})

let server: TestServer
const { plugin, watch } = watchedDatabase()

const postAll = async (entry: readonly Json[]): Promise<void> => void (await postTransaction(server, entry))
const put = (resource: Json): Json => ({
  resource,
  request: { method: 'PUT', url: `${resource.resourceType}/${resource.id}` },
})
const remove = (path: string): Json => ({ request: { method: 'DELETE', url: path } })
const patient = (id: string, active: boolean): Json => ({ resourceType: 'Patient', id, active })
const observation = (id: string, of: string, tag?: Json): Json => ({
  resourceType: 'Observation',
  id,
  status: 'final',
  code: { text: 'x' },
  subject: { reference: `Patient/${of}` },
  ...(tag === undefined ? {} : { meta: { tag: [tag] } }),
})
const binary = (id: string, of: string): Json => ({
  resourceType: 'Binary',
  id,
  contentType: 'text/plain',
  securityContext: { reference: of },
  data: 'AAAA',
})
const times = (make: (at: number) => Json): Json[] => Array.from({ length: HIDDEN }, (_, at) => make(at))

test.before(async () => {
  server = await serverWith({
    plugins: [plugin, stubDefinitions('all'), ...fhirPlugins, gate],
    settings: { conformance: { update_as_create: true }, fhir: { cache_bytes: 0 } },
  })
  await postAll([put(patient('open', true)), put(patient('shut', false))])
  await postAll([put(observation('o', 'open', OPEN)), put(binary('b', 'Observation/o'))])
  await postAll([put(observation('gone', 'open', OPEN))])
  await postAll([remove('Observation/gone')])
  // A past version: nobody whose grant the index decides sees it.
  await postAll([put(observation('past', 'open'))])
  await postAll([put(observation('past', 'shut'))])
  await postAll(times((at) => put(patient(`p${at}`, false))))
  await postAll(times((at) => put(observation(`o${at}`, `p${at}`))))
  await postAll(times((at) => put(binary(`b${at}`, `Patient/p${at}`))))
  await postAll(times((at) => put(observation(`d${at}`, `p${at}`))))
  await postAll(times((at) => remove(`Observation/d${at}`)))
})
test.after(() => server.stop())

const shownAt = async (url: string): Promise<readonly string[]> => {
  const { statusCode, body } = await server.inject(url)
  assert.is(statusCode, 200, body)
  const { entry = [] } = JSON.parse(body) as {
    entry?: { fullUrl: string; response: { status: string; etag: string } }[]
  }
  return entry.map(
    ({ fullUrl, response }) => `${fullUrl.split('/').slice(-2).join('/')} ${/\d+/.exec(response.etag)?.[0]}`,
  )
}

for (const [how, part, url, expected] of [
  ['the index', BY_INDEX, '/_history?_count=50', ['Observation/o 1', 'Binary/b 1', 'Patient/open 1']],
  ['the index', BY_INDEX, '/Observation/_history?_count=50', ['Observation/o 1']],
  [
    'the content',
    BY_CONTENT,
    '/_history?_count=50',
    ['Observation/gone 2', 'Observation/gone 1', 'Observation/o 1', 'Binary/b 1'],
  ],
  ['the content', BY_CONTENT, '/Binary/_history?_count=50', ['Binary/b 1']],
] as const)
  test(`${url} takes few statements where ${how} decides`, async () => {
    restriction = part
    const before = watch.asked
    const shown = await shownAt(url)
    const asked = watch.asked - before
    restriction = undefined
    assert.equal(shown, expected)
    assert.ok(asked <= MOST_STATEMENTS, `${asked} statements`)
  })

test('a history shows the same versions page by page', async () => {
  for (const part of [BY_INDEX, BY_CONTENT]) {
    restriction = part
    const whole = await shownAt('/_history?_count=50')
    const pages: string[] = []
    for (let url: string | undefined = '/_history?_count=1'; url !== undefined; ) {
      pages.push(...(await shownAt(url)))
      const { link } = (await server.inject(url)).json() as { link: { relation: string; url: string }[] }
      const next = link.find(({ relation }) => relation === 'next')?.url
      url = next?.slice(next.indexOf('/_history'))
    }
    restriction = undefined
    assert.equal(pages, whole)
  }
})

test('a history in a transaction shows the same versions', async () => {
  for (const part of [BY_INDEX, BY_CONTENT]) {
    restriction = part
    const [single, answer] = [
      await server.inject('/_history?_count=50'),
      await server.inject({
        method: 'POST',
        url: '/',
        headers: { 'content-type': 'application/fhir+json' },
        payload: JSON.stringify({
          resourceType: 'Bundle',
          type: 'transaction',
          entry: [{ request: { method: 'GET', url: '_history?_count=50' } }],
        }),
      }),
    ]
    restriction = undefined
    assert.is(answer.statusCode, 200, answer.body)
    assert.equal(answer.json().entry[0].resource.entry, single.json().entry)
  }
})

test('deletions are decided on where the versions before them are more than are read at once', async () => {
  const ids = ['large1', 'large2', 'large3', 'large4', 'large5']
  for (const id of ids) {
    // Bytes that no compression makes smaller.
    const data = createCipheriv('aes-128-ctr', id.padEnd(16), '0'.repeat(16)).update(Buffer.alloc(LARGE))
    await postAll([put({ resourceType: 'Binary', id, contentType: 'text/plain', data: data.toString('base64') })])
  }
  const many = Array.from({ length: 230 }, (_, at) => `m${at}`)
  await postAll(many.map((id) => put({ resourceType: 'Basic', id, code: { text: 'x' }, meta: { tag: [OPEN] } })))
  await postAll([...ids.map((id) => remove(`Binary/${id}`)), ...many.map((id) => remove(`Basic/${id}`))])
  restriction = BY_CONTENT
  const shown = await shownAt('/_history?_count=300')
  restriction = undefined
  const deleted = shown.filter((one) => one.endsWith(' 2') && !one.startsWith('Observation/')).sort()
  assert.equal(deleted, [...ids.map((id) => `Binary/${id} 2`), ...many.map((id) => `Basic/${id} 2`)].sort())
})

test.run()
