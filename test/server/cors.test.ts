/** Pages of other origins: which may call this server from a browser, and what they may read of its answers. */
// database: memory
import { Readable } from 'node:stream'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnyPlugin, defineError, definePlugin } from '../../kernel/index.ts'
import cors from '../../plugins/cors/index.ts'
import { originOf, WebApps } from '../../plugins/cors/service.ts'
import database from '../../plugins/database/index.ts'
import limits from '../../plugins/limits/index.ts'
import { fhirPlugins } from '../support/fhir-plugins.ts'
import { kernelWith } from '../support/kernel-with.ts'
import { serverWith, type TestServer } from '../support/server-with.ts'
import { stubDefinitions } from '../support/stub-definitions.ts'

const APP = 'https://app.example.org'
const LOCAL = 'http://localhost:3000'
const Closed = defineError('gates/closed', 503, 'transient', 'Closed.')
const Nobody = defineError('gates/nobody', 401, 'login', 'Who are you?')
const Forbidden = defineError('gates/forbidden', 403, 'forbidden', 'No.')

/** Refuses what a header asks it to refuse, and tells how often it was asked. */
let asked = 0
let isClosed = false
const gates = definePlugin({
  name: 'gates',
  errors: { Closed, Nobody, Forbidden },
  setup({ hooks, gate, routes }) {
    gate(() => (isClosed ? Closed() : undefined))
    hooks.admit.tap('refuse', ({ headers }) => {
      asked += 1
      return headers['x-refuse'] === '401' ? Nobody().with({ headers: { 'www-authenticate': 'Bearer' } }) : undefined
    })
    hooks.authorize.tap('refuse', ({ headers }, _interaction, ruling) => {
      if (headers['x-refuse'] === '403') ruling.refuse(Forbidden())
    })
    routes((app, _options, done) => {
      app.get('/stream', (_request, reply) => reply.send(Readable.from(['a', 'b', 'c'])))
      app.get('/open', () => ({}))
      app.get('/login', () => ({}))
      done()
    })
  },
})

const plugins: readonly AnyPlugin[] = [
  database,
  stubDefinitions(['Patient', 'HumanName', 'Observation', 'Binary'], /^SearchParameter-individual-family/),
  ...fhirPlugins,
  gates,
  cors,
]

let server: TestServer
let base: string
test.before(async () => {
  server = await serverWith({
    plugins,
    settings: {
      cors: { origins: [APP, LOCAL] },
      fhir: { max_body_bytes: 1024 },
      conformance: { update_as_create: true },
      server: { bind: '127.0.0.1:0' },
    },
  })
  base = await server.listen()
  await ask('PUT', '/Patient/p', {}, '{"resourceType":"Patient","id":"p"}')
  await ask('PUT', '/Binary/b', {}, '{"resourceType":"Binary","id":"b","contentType":"text/plain","data":"eA=="}')
})
test.after(() => server.stop())

const ask = async (method: string, url: string, headers: Record<string, string>, payload?: string, of = server) =>
  of.inject({
    method: method as 'GET',
    url,
    headers: { ...(payload !== undefined && { 'content-type': 'application/fhir+json' }), ...headers },
    ...(payload !== undefined && { payload }),
  })
const preflight = (origin: string, url: string, headers: Record<string, string> = {}, of = server) =>
  ask('OPTIONS', url, { origin, 'access-control-request-method': 'PUT', ...headers }, undefined, of)
const ALLOW = 'access-control-allow-origin'
const vary = ({ headers }: { headers: Record<string, unknown> }): string => String(headers.vary ?? '').toLowerCase()

test('without origins there is no CORS: OPTIONS is 405, and no header tells of origins', async () => {
  const plain = await serverWith({ plugins })
  try {
    assert.is((await preflight(APP, '/Patient/p', {}, plain)).statusCode, 405)
    for (const url of ['/metadata', '/Patient', '/Patient/p']) {
      const { headers } = await ask('GET', url, { origin: APP }, undefined, plain)
      assert.not(Object.keys(headers).some((name) => name.startsWith('access-control')))
      assert.not.match(vary({ headers }), 'origin')
    }
  } finally {
    await plain.stop()
  }
})

test('a preflight of a page that is let in is 204 with its origin, before anybody is asked who it is', async () => {
  for (const [origin, url] of [
    [APP, '/Patient/p'],
    [LOCAL, '/Patient?name=x'],
    [APP, '/'],
    [APP, '/Patient/$validate'],
    [APP, '/nowhere/at/all'],
  ] as const) {
    asked = 0
    const names = 'authorization, content-type,if-match, x-refuse'
    const answer = await preflight(origin, url, { 'x-refuse': '401', 'access-control-request-headers': names })
    assert.is(answer.statusCode, 204, url)
    assert.is(answer.body, '')
    assert.is(answer.headers[ALLOW], origin)
    assert.is(answer.headers['access-control-allow-methods'], 'GET, HEAD, POST, PUT, PATCH, DELETE')
    assert.is(answer.headers['access-control-allow-headers'], names)
    assert.is(answer.headers['access-control-allow-credentials'], undefined)
    assert.is(vary(answer), 'origin, access-control-request-headers')
    assert.is(asked, 0)
  }
})

test('what is no list of header names is not repeated', async () => {
  for (const names of ['a b', 'a,,b', 'x: y', 'a;b', 'é', 'a'.repeat(2000), '*\u00a0']) {
    const answer = await preflight(APP, '/Patient/p', { 'access-control-request-headers': names })
    assert.is(answer.statusCode, 204)
    assert.is(answer.headers['access-control-allow-headers'], undefined)
  }
})

test('an OPTIONS that is no preflight stays 405', async () => {
  assert.is((await ask('OPTIONS', '/Patient/p', { origin: APP })).statusCode, 405)
  assert.is((await ask('OPTIONS', '/Patient/p', { 'access-control-request-method': 'PUT' })).statusCode, 405)
})

const EXPOSED = [
  'ETag',
  'Location',
  'Content-Location',
  'Retry-After',
  'X-Request-Id',
  'WWW-Authenticate',
  'X-Snapshot',
  'X-Trace-Id',
]
const checkShown = (headers: Record<string, unknown>, what: string): void => {
  assert.is(headers[ALLOW], APP, what)
  const shown = String(headers['access-control-expose-headers']).split(', ')
  for (const name of EXPOSED) assert.ok(shown.includes(name), `${what}: ${name}`)
  assert.match(vary({ headers }), /\borigin\b/, what)
  assert.is(headers['access-control-allow-credentials'], undefined)
}

test('a page that is let in reads answers on both ways, with the Vary that they have themselves', async () => {
  for (const url of ['/Patient/p', '/Binary/b', '/Patient', '/Patient?name=x', '/Patient/p/_history/1']) {
    const plain = await fetch(base + url)
    const told = await fetch(base + url, { headers: { origin: APP } })
    const headers = Object.fromEntries(told.headers)
    checkShown(headers, url)
    assert.is(headers.vary, plain.headers.get('vary'))
    assert.match(headers.vary ?? '', /^accept, Origin$/)
    const shown = async (of: Response): Promise<string> =>
      (await of.text()).replaceAll(/"(id|lastUpdated)":"[^"]*"/g, '')
    assert.is(await shown(told), await shown(plain))
    checkShown((await ask('GET', url, { origin: APP })).headers, url)
  }
})

test('a stream, a HEAD and a change are shown like a read', async () => {
  const streamed = await fetch(`${base}/stream`, { headers: { origin: APP } })
  checkShown(Object.fromEntries(streamed.headers), 'stream')
  assert.is(await streamed.text(), 'abc')
  checkShown((await ask('HEAD', '/Patient/p', { origin: APP })).headers, 'HEAD')
  const made = await ask('POST', '/Patient', { origin: APP }, '{"resourceType":"Patient"}')
  assert.is(made.statusCode, 201)
  checkShown(made.headers, 'POST')
})

const OTHERS = [
  ...['null', 'https://app.example.org.evil.test', 'https://evil-app.example.org', 'https://app.example.or'],
  ...['https://app.example.org:8443', 'http://app.example.org', 'HTTPS://APP.EXAMPLE.ORG', 'https://App.example.org'],
  ...['https://app.example.org/', `${APP}, ${APP}`, `${APP} ${LOCAL}`, 'https://sub.app.example.org', '*', ''],
]
for (const origin of OTHERS)
  test(`no page of "${origin}" reads anything`, async () => {
    for (const answer of [
      await ask('GET', '/Patient/p', { origin }),
      await ask('GET', '/Patient/none', { origin }),
      await preflight(origin, '/Patient/p'),
    ]) {
      assert.not(Object.keys(answer.headers).some((name) => name.startsWith('access-control')))
      assert.match(vary(answer), /\borigin\b/)
    }
    assert.is((await preflight(origin, '/Patient/p')).statusCode, 405)
  })

test('refusals are shown to a page that is let in', async () => {
  const cases: readonly (readonly [number, string, string, Record<string, string>, string?])[] = [
    [400, 'GET', '/Patient?nonsense=x', {}],
    [401, 'GET', '/Patient/p', { 'x-refuse': '401' }],
    [403, 'GET', '/Patient/p', { 'x-refuse': '403' }],
    [404, 'GET', '/Patient/none', {}],
    [404, 'GET', '/nowhere/at/all', {}],
    [405, 'DELETE', '/metadata', {}],
    [412, 'DELETE', '/Patient/p', { 'if-match': 'W/"9"' }],
    [413, 'POST', '/Patient', {}, `{"resourceType":"Patient","language":"${'x'.repeat(2000)}"}`],
    [415, 'POST', '/Patient', { 'content-type': 'text/plain' }, 'x'],
  ]
  for (const [status, method, url, headers, body] of cases) {
    const answer = await ask(method, url, { origin: APP, ...headers }, body)
    assert.is(answer.statusCode, status, `${method} ${url}`)
    if (url !== '/metadata') checkShown(answer.headers, `${method} ${url}`)
  }
})

test('a server that takes no requests tells so to a page that is let in, and answers its preflight', async () => {
  isClosed = true
  try {
    const refused = await fetch(`${base}/Patient/p`, { headers: { origin: APP } })
    assert.is(refused.status, 503)
    checkShown(Object.fromEntries(refused.headers), 'gate')
    assert.is((await preflight(APP, '/Patient/p')).statusCode, 204)
  } finally {
    isClosed = false
  }
  const { kernel: starting } = await kernelWith([gates, cors], { settings: { cors: { origins: [APP] } } })
  const answer = await starting.inject({ method: 'GET', url: '/stream', headers: { origin: APP } })
  assert.is(answer.statusCode, 503)
  checkShown(answer.headers, 'starting')
  await starting.stop()
})

test('a page that asks too often reads when it may ask again; its preflights cost nothing', async () => {
  const limited = await serverWith({
    plugins: [...plugins, limits],
    settings: {
      cors: { origins: [APP] },
      rate_limit: { requests_per_second: 0.01, burst: 2, cost: { bundle: 1, operation: 1, export: 1, sync: 1 } },
    },
  })
  try {
    for (let n = 0; n < 5; n += 1) assert.is((await preflight(APP, '/Patient/p', {}, limited)).statusCode, 204)
    const statuses: number[] = []
    for (let n = 0; n < 4; n += 1) {
      const answer = await ask('GET', '/Patient/none', { origin: APP }, undefined, limited)
      statuses.push(answer.statusCode)
      checkShown(answer.headers, String(answer.statusCode))
    }
    assert.equal(statuses, [404, 404, 429, 429])
  } finally {
    await limited.stop()
  }
})

test('pages of every origin read /metadata, without credentials', async () => {
  for (const origin of [APP, 'https://anybody.example', 'null']) {
    const answer = await ask('GET', '/metadata', { origin })
    assert.is(answer.headers[ALLOW], '*')
    assert.is(answer.headers['access-control-allow-credentials'], undefined)
    assert.is((await preflight(origin, '/metadata')).headers[ALLOW], '*')
  }
})

test('pages of registered apps are let in as long as they are; login is for no page, discovery for all', async () => {
  const origins = new Set(['https://registered.example'])
  const registry = definePlugin({
    name: 'registry',
    provides: [WebApps],
    setup({ provide }) {
      provide(WebApps, {
        hasOrigin: (origin) => origins.has(origin) || origin === 'null',
        openRoutes: ['/open'],
        closedRoutes: ['/login'],
      })
    },
  })
  const served = await serverWith({ plugins: [registry, ...plugins], settings: { cors: { origins: [APP] } } })
  const allowed = async (origin: string, url: string): Promise<unknown> => {
    const answers = [await ask('GET', url, { origin }, undefined, served), await preflight(origin, url, {}, served)]
    assert.is(answers[0]?.headers[ALLOW], answers[1]?.headers[ALLOW])
    return answers[0]?.headers[ALLOW]
  }
  try {
    assert.is(await allowed('https://registered.example', '/Patient/p'), 'https://registered.example')
    assert.is(await allowed(APP, '/Patient/p'), APP)
    assert.is(await allowed('null', '/Patient/p'), undefined)
    assert.is(await allowed('https://anybody.example', '/open'), '*')
    for (const origin of [APP, 'https://registered.example', 'null'])
      assert.is(await allowed(origin, '/login'), undefined)
    origins.clear()
    assert.is(await allowed('https://registered.example', '/Patient/p'), undefined)
  } finally {
    await served.stop()
  }
})

test('the origin of an app is that of its page; what is opened by an app of the system has none', () => {
  assert.is(originOf('https://App.Example.org:443/callback?x=1'), APP)
  assert.is(originOf('http://127.0.0.1:5000/cb'), 'http://127.0.0.1:5000')
  for (const uri of ['com.example.app:/cb', 'myapp://cb', 'data:text/html,x', 'nonsense', 'javascript:1'])
    assert.is(originOf(uri), undefined)
})

for (const origin of [
  '*',
  'null',
  'app.example.org',
  'https://app.example.org/',
  'https://App.example.org',
  `${APP}:443`,
])
  test(`"${origin}" in the settings stops the start, and says what is meant`, async () => {
    const error = await serverWith({ plugins, settings: { cors: { origins: [origin] } } }).then(
      (started) => started.stop(),
      (thrown: unknown) => thrown as Error,
    )
    assert.match(String(error), 'is not the origin of a page')
  })

test.run()
