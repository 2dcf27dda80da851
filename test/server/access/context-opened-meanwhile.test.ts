/**
 * One transaction replaces a Binary and opens the resource that its securityContext names, while a restricted caller is
 * between the two. No closed version of the Binary was ever current while its context was open, so none is shown. The
 * transaction is made before each of the queries for one row that a read asks, one after the other.
 */
// npm test: postgres, where transactions overlap
// memory: reads wait there while a transaction is open
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnyPlugin, definePlugin } from '../../../kernel/index.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { postTransaction } from '../../support/post-bundle.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'
import { watchedDatabase } from '../../support/watched-database.ts'

type Json = Record<string, unknown>

const FHIR_JSON = 'application/fhir+json'
const OPEN = { system: 'http://t', code: 'open' }
const MOST_QUERIES = 16
/** Basic by content, and by what only the index knows. */
const BY_CONTENT = { types: {}, others: [{ rights: 'cruds', query: '_tag=http://t|open' }] } as const
const BY_INDEX = { types: {}, others: [{ rights: 'cruds', query: '_content=public' }] } as const
const ALL_BINARIES = { Binary: [{ rights: 'cruds' }] } as const
/** Only the index knows what refers to a Binary. */
const LISTED_BINARIES = { Binary: [{ rights: 'cruds', query: '_has:List:item:_id=l' }] } as const
const gate: AnyPlugin = definePlugin({
  name: 'gate',
  setup({ hooks }) {
    hooks.authorize.tap('what is open', ({ headers }, _interaction, ruling) => {
      if (headers['x-part'] === 'content') ruling.restrict({ ...BY_CONTENT, types: ALL_BINARIES })
      if (headers['x-part'] === 'index') ruling.restrict({ ...BY_INDEX, types: ALL_BINARIES })
      if (headers['x-part'] === 'listed') ruling.restrict({ ...BY_CONTENT, types: LISTED_BINARIES })
    })
  },
})

let server: TestServer
const { plugin, watch } = watchedDatabase()

const textOf = (isOpen: boolean): string => (isOpen ? 'OPENED content' : 'CLOSED content')
const binary = (isOpen: boolean): Json => ({
  resourceType: 'Binary',
  id: 'b',
  meta: { tag: [{ code: isOpen ? 'public' : 'CLOSED' }] },
  contentType: 'text/plain',
  securityContext: { reference: 'Basic/s' },
  data: Buffer.from(textOf(isOpen)).toString('base64'),
})
const basic = (isOpen: boolean): Json => ({
  resourceType: 'Basic',
  id: 's',
  meta: { tag: [isOpen ? OPEN : { system: 'http://t', code: 'shut' }] },
  code: { text: isOpen ? 'public' : 'shut' },
})
const put = (resource: Json): Json => ({
  resource,
  request: { method: 'PUT', url: `${resource.resourceType}/${resource.id}` },
})
const DELETION: Json = { request: { method: 'DELETE', url: 'Binary/b' } }
/** Makes the changes in one transaction and returns the entity tag of the first one. */
const change = async (...entry: readonly Json[]): Promise<string> => {
  const answer = await postTransaction(server, entry)
  return answer.json().entry[0].response.etag
}
const flip = (isOpen: boolean): Promise<string> => change(put(binary(isOpen)), put(basic(isOpen)))

test.before(async () => {
  server = await serverWith({
    plugins: [plugin, stubDefinitions('all'), ...fhirPlugins, gate],
    settings: { conformance: { update_as_create: true }, fhir: { cache_bytes: 0 } },
  })
  await flip(false)
  await change(put(list(true)))
})
test.after(() => server.stop())

interface Asked {
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PATCH'
  readonly url?: string
  readonly headers?: Record<string, string>
  readonly body?: unknown
  /** Also queries inside its transaction are held up. */
  readonly isTransaction?: boolean
  /** Also queries for several rows are held up. */
  readonly isSearching?: boolean
}

/** Asks with a change before the nth query for one row; false when there was no such query. */
const askMeanwhile = async (asked: Asked, part: string, nth: number, meanwhile: () => Promise<unknown>) => {
  let count = 0
  const held = (isInTransaction: boolean): Promise<unknown> | undefined => {
    if (isInTransaction && asked.isTransaction !== true) return undefined
    count += 1
    if (count !== nth) return undefined
    watch.beforeOne = undefined
    watch.before = undefined
    return meanwhile()
  }
  watch.beforeOne = held
  if (asked.isSearching) watch.before = async () => held(false)
  const { method = 'GET', url = '/Binary/b', headers, body } = asked
  const answer = await server.inject({
    method,
    url,
    headers: { 'x-part': part, ...(body === undefined ? {} : { 'content-type': FHIR_JSON }), ...headers },
    ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
  })
  watch.beforeOne = undefined
  watch.before = undefined
  return { answer, isDone: count < nth, count }
}

const READ_ENTRY = [{ request: { method: 'GET', url: 'Binary/b' } }]
/** A transaction of the caller and the other one at once: on SQLite the second waits for the first. */
const ON_POSTGRES_ONLY = new Set(['GET in a transaction'])
const WAYS: Readonly<Record<string, (closed: string) => Asked>> = {
  GET: () => ({}),
  'GET as FHIR JSON': () => ({ headers: { accept: FHIR_JSON } }),
  'GET of a range': () => ({ headers: { range: 'bytes=0-5' } }),
  HEAD: () => ({ method: 'HEAD' }),
  'GET with If-None-Match': (closed) => ({ headers: { 'if-none-match': closed } }),
  'GET in a batch': () => ({
    ...{ method: 'POST', url: '/' },
    body: { resourceType: 'Bundle', type: 'batch', entry: READ_ENTRY },
  }),
  'GET in a transaction': () => ({
    isTransaction: true,
    ...{ method: 'POST', url: '/' },
    body: { resourceType: 'Bundle', type: 'transaction', entry: READ_ENTRY },
  }),
  'search by _id': () => ({ url: '/Binary?_id=b' }),
  $meta: () => ({ url: '/Binary/b/$meta' }),
  PATCH: () => ({
    ...{ method: 'PATCH', headers: { 'content-type': 'application/json-patch+json' } },
    // The test fails on a closed version, and its error would tell so.
    body: [{ op: 'test', path: '/meta/tag/0/code', value: 'public' }],
  }),
}

const encodings = ['CLOSED', Buffer.from('CLOSED').toString('base64')]
for (const [name, asking] of Object.entries(WAYS))
  for (const part of ['content', 'index', 'listed'])
    if (chosenKind.name === 'postgres' || !ON_POSTGRES_ONLY.has(name))
      test(`${name}: a closed Binary is not shown where its context is opened meanwhile (${part})`, async () => {
        let most = 0
        for (let nth = 1; nth <= MOST_QUERIES; nth += 1) {
          const closed = await flip(false)
          const { answer, isDone, count } = await askMeanwhile(asking(closed), part, nth, () => flip(true))
          const { statusCode, headers, body } = answer
          most = Math.max(most, count)
          const told = `before query ${nth}: ${statusCode} ${headers.etag} ${body}`
          assert.ok([200, 206, 403, 404].includes(statusCode), told)
          for (const one of encodings) assert.not(body.includes(one), told)
          if (statusCode < 400) assert.is.not(headers.etag, closed, told)
          assert.not(body.includes(`"etag":${JSON.stringify(closed)}`), told)
          if (isDone) break
        }
        if (name.startsWith('GET')) assert.ok(most > 1, 'fewer queries for one row than the Binary and its context')
      })

for (const part of ['content', 'index'])
  test(`a deletion of a closed Binary is 404 where its context is opened meanwhile (${part})`, async () => {
    for (let nth = 1; nth <= MOST_QUERIES; nth += 1) {
      await flip(false)
      await change(DELETION)
      const { answer, isDone } = await askMeanwhile({}, part, nth, () => flip(true))
      assert.ok([200, 404].includes(answer.statusCode), `before query ${nth}: ${answer.statusCode} ${answer.body}`)
      if (isDone) break
    }
  })

const list = (isListed: boolean): Json => ({
  ...{ resourceType: 'List', id: 'l', status: 'current', mode: 'working' },
  ...(isListed ? { entry: [{ item: { reference: 'Binary/b' } }] } : {}),
})
/** With a second reference, which counts as a security context too. */
const twice = {
  ...binary(false),
  securityContext: {
    reference: 'Basic/s',
    extension: [{ url: 'http://example.org/second', valueReference: { reference: 'Basic/s2' } }],
  },
}
const second = (isOpen: boolean): Json => ({ ...basic(isOpen), id: 's2' })
/** Two states, in neither of which the Binary may be read, though each of the others is open in one. */
const TURNS: readonly (readonly [name: string, part: string, first: readonly Json[], then: readonly Json[]])[] = [
  [
    'a List that grants it and its context take turns',
    'listed',
    [put(binary(false)), put(list(true)), put(basic(false))],
    [put(list(false)), put(basic(true))],
  ],
  [
    'its two contexts take turns',
    'content',
    [put(twice), put(basic(true)), put(second(false))],
    [put(basic(false)), put(second(true))],
  ],
]
for (const [name, part, first, then] of TURNS)
  test(`a Binary that is closed in every state is not shown while ${name}`, async () => {
    for (let nth = 1; nth <= MOST_QUERIES; nth += 1) {
      await change(...first)
      const { answer, isDone } = await askMeanwhile({ isSearching: true }, part, nth, () => change(...then))
      assert.is(answer.statusCode, 404, `before query ${nth}: ${answer.statusCode} ${answer.body}`)
      if (isDone) break
    }
  })

test('a Binary that is always visible is found while its context moves', async () => {
  await change(put(basic(true)), put({ ...basic(true), id: 's2' }))
  for (let nth = 1; nth <= MOST_QUERIES; nth += 1) {
    await change(put(binary(true)), put(basic(true)), put({ ...basic(false), id: 's2' }))
    const moved = { ...binary(true), securityContext: { reference: 'Basic/s2' } }
    const { answer, isDone } = await askMeanwhile({}, 'content', nth, () =>
      change(put(moved), put(basic(false)), put({ ...basic(true), id: 's2' })),
    )
    assert.is(answer.statusCode, 200, `before query ${nth}: ${answer.body}`)
    if (isDone) break
  }
})

test('a Binary that is replaced again and again is 409, and shown when that ends', async () => {
  let isOpen = await flip(false).then(() => false)
  let isFlipping = false
  watch.beforeOne = (isInTransaction) => {
    if (isFlipping || isInTransaction) return undefined
    isFlipping = true
    isOpen = !isOpen
    return flip(isOpen).finally(() => {
      isFlipping = false
    })
  }
  const answer = await server.inject({ url: '/Binary/b', headers: { 'x-part': 'content' } })
  watch.beforeOne = undefined
  assert.ok([404, 409].includes(answer.statusCode), `${answer.statusCode} ${answer.body}`)
  await flip(true)
  const after = await server.inject({ url: '/Binary/b', headers: { 'x-part': 'content' } })
  assert.is(after.body, 'OPENED content')
})

test.run()
