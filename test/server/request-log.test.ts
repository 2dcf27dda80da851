/** One line per request, and the recent requests at /_requests. Spec: [request_log]. */
// memory: long reads have no thread of their own there
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnyPlugin, createKernel, type Kernel } from '../../kernel/index.ts'
import requestLog from '../../plugins/request-log/index.ts'
import { createManualClock, type ManualClock } from '../support/manual-clock.ts'
import { named } from '../support/named-callers.ts'
import { basic, serverWith, type TestServer } from '../support/server-with.ts'
import { until } from '../support/until.ts'
import { watchedDatabase } from '../support/watched-database.ts'

const plugins: readonly AnyPlugin[] = [...basic, named, requestLog]
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Counts the lines that a shared server had logged when the test began. */
const before = new WeakMap<TestServer, number>()
/** Returns the lines that the test has made. */
const linesOf = (server: TestServer) =>
  server.lines.slice(before.get(server)).filter(({ plugin }) => plugin === 'request-log')

const withServer = async (
  work: (server: TestServer, clock: ManualClock) => Promise<void>,
  request_log: Record<string, unknown> = {},
): Promise<void> => {
  const clock = createManualClock()
  const server = await serverWith({ plugins, settings: { request_log }, clock })
  try {
    await work(server, clock)
  } finally {
    await server.stop()
  }
}

/** Tests share these two, without a store and with it: their requests have ids and clients of their own. */
let plain: TestServer
let storing: TestServer
const clockOfStoring = createManualClock()
test.before(async () => {
  plain = await serverWith({ plugins, clock: createManualClock() })
  storing = await serverWith({ plugins, settings: { request_log: { store: true } }, clock: clockOfStoring })
})
test.before.each(() => void before.set(plain, plain.lines.length))
test.after(async () => {
  await plain.stop()
  await storing.stop()
})

interface Stored {
  readonly request?: string
  readonly status: number
  readonly summary?: true
  readonly count?: number
  readonly [name: string]: unknown
}

const requestsOf = async (server: Kernel, query = ''): Promise<readonly Stored[]> => {
  const answer = await server.inject(`/_requests${query}`)
  assert.is(answer.statusCode, 200, answer.body)
  return (answer.json() as { requests: Stored[] }).requests
}
const idsOf = async (server: Kernel, query: string): Promise<readonly unknown[]> =>
  (await requestsOf(server, query)).filter((row) => row.class !== 'admin').map(({ request }) => request)

const get = (server: Kernel, url: string, id: string, client?: string) =>
  server.inject({ url, headers: { 'x-request-id': id, ...(client && { 'x-test-client': client }) } })

test('a request is one line: id, method, route, class, status, bytes, duration, caller', async () => {
  const server = plain
  const headers = { 'x-request-id': 'r-1', 'x-test-client': 'app', 'x-test-user': 'Practitioner/p1' }
  const { body } = await server.inject({ url: '/Patient/nobody', headers })
  const [line, ...others] = linesOf(server)
  assert.equal(others, [])
  const { ms, ...rest } = line as { ms: number }
  assert.type(ms, 'number')
  assert.equal(rest, {
    level: 'info',
    time: '2026-01-15T12:00:00.000Z',
    plugin: 'request-log',
    request: 'r-1',
    method: 'GET',
    route: '/:type/:id',
    class: 'read',
    status: 404,
    bytes_in: 0,
    bytes_out: Buffer.byteLength(body),
    client: 'app',
    user: 'Practitioner/p1',
    msg: 'request',
  })
})

test('a caller without a token is logged by address', async () => {
  const server = plain
  await server.inject({ url: '/Patient', remoteAddress: '192.0.2.1' })
  assert.is(linesOf(server)[0]?.address, '192.0.2.1')
  assert.not.ok('client' in linesOf(server)[0]!)
})

test('X-Request-Id is kept when it is well-formed, else made, and is in every answer and its line', async () => {
  const server = plain
  for (const [given, kept] of [
    ['abc-123_~.:=+/', true],
    ['a'.repeat(128), true],
    ['a'.repeat(129), false],
    ['two words', false],
    ['"quoted"', false],
    ['', false],
  ] as const) {
    const { headers } = await server.inject({ url: '/Patient', headers: { 'x-request-id': given } })
    const answered = headers['x-request-id'] as string
    assert.is(linesOf(server).at(-1)?.request, answered)
    if (kept) assert.is(answered, given)
    else assert.match(answered, UUID)
  }
  // Refusals have their id in the line, too.
  for (const request of [
    { url: '/nothing/here/at/all' },
    { url: '/Patient/%zz' },
    { url: '/Patient/%ff?%ff' },
    { url: '/Patient', method: 'PUT' as const },
  ]) {
    const { headers, statusCode } = await server.inject({ ...request, headers: { 'x-request-id': 'r-2' } })
    assert.ok(statusCode >= 400)
    assert.is(headers['x-request-id'], 'r-2')
    assert.is(linesOf(server).at(-1)?.request, 'r-2')
  }
})

test('probes are not logged', async () => {
  const server = plain
  for (const url of ['/livez', '/readyz', '/healthz', '/healthz?verbose=1']) await server.inject(url)
  assert.equal(linesOf(server), [])
})

test('above its level nothing is logged, and the hook stays untapped', async () => {
  const kernel = await createKernel({ plugins, log: { level: 'warn' } })
  assert.not.ok((await kernel.describe()).flatMap(({ hooks }) => hooks).some((hook) => hook.startsWith('meter')))
})

test('stored requests are shown newest first, and filters choose', async () => {
  const server = storing
  await get(server, '/Patient', 'r-1', 'a')
  await get(server, '/Patient/none', 'r-2', 'a')
  await clockOfStoring.advance(60_000)
  await get(server, '/Patient', 'r-3', 'b')
  await get(server, '/Patient', 'r-4')
  assert.equal(await idsOf(server, ''), ['r-4', 'r-3', 'r-2', 'r-1'])
  assert.equal(await idsOf(server, '?client=a'), ['r-2', 'r-1'])
  assert.equal(await idsOf(server, '?status=404'), ['r-2'])
  assert.equal(await idsOf(server, '?class=search'), ['r-4', 'r-3', 'r-1'])
  assert.equal(await idsOf(server, '?from=2026-01-15T12:01:00Z'), ['r-4', 'r-3'])
  assert.equal(await idsOf(server, '?to=2026-01-15T12:01:00Z'), ['r-2', 'r-1'])
  assert.equal(await idsOf(server, '?from=2026-01-16'), [])
  assert.equal(await idsOf(server, '?request=r-3'), ['r-3'])
  const [row] = await requestsOf(server, '?request=r-2')
  assert.type(row?.ms, 'number')
  assert.equal(
    { ...row, ms: 0 },
    {
      request: 'r-2',
      method: 'GET',
      route: '/:type/:id',
      class: 'read',
      time: '2026-01-15T12:00:00.000Z',
      status: 404,
      bytes_in: 0,
      bytes_out: row?.bytes_out,
      ms: 0,
      client: 'a',
    },
  )
})

test('pages of stored requests hold each once, while more come', async () => {
  const server = storing
  const ids = Array.from({ length: 25 }, (_, at) => `r-${at}`)
  for (const id of ids) await get(server, '/Patient', id, 'paging')
  const seen: unknown[] = []
  let url: string | undefined = '/_requests?client=paging&_count=10'
  for (let pages = 0; url !== undefined; pages += 1) {
    assert.ok(pages < 4)
    await get(server, '/Patient', `later-${pages}`, 'paging')
    const { requests, next } = (await server.inject(url)).json() as { requests: Stored[]; next?: string }
    seen.push(...requests.map(({ request }) => request))
    url = next
  }
  assert.equal(seen.slice(1), ids.toReversed())
})

test('requests past their retention are removed', () =>
  withServer(
    async (server, clock) => {
      await get(server, '/Patient', 'old')
      await clock.leap(3_600_000)
      await get(server, '/Patient', 'new')
      // Both are stored before the clean-up runs, which comes once a minute of a clock that stands still afterwards.
      await until(async () => (await idsOf(server, '')).join() === 'new,old', 5_000, 'both')
      await clock.leap(3_540_000)
      await until(async () => (await idsOf(server, '')).join() === 'new', 5_000, 'the removal')
    },
    { store: true, retention_hours: 1 },
  ))

test('throttled requests and failures without a caller are stored so many per second; the rest is counted exactly', () =>
  withServer(
    async (server, clock) => {
      for (let n = 0; n < 30; n += 1) await get(server, '/Patient/none', `anonymous-${n}`)
      // A failure of somebody known, and what succeeds, is always stored.
      for (let n = 0; n < 10; n += 1) await get(server, '/Patient/none', `app-${n}`, 'app')
      for (let n = 0; n < 10; n += 1) await get(server, '/Patient', `good-${n}`)
      await clock.advance(1000)
      for (let n = 0; n < 7; n += 1) await get(server, '/Patient/none', `again-${n}`)
      const rows = (await requestsOf(server, '?_count=1000')).filter((row) => row.class !== 'admin')
      const named = (start: string): number => rows.filter(({ request }) => request?.startsWith(start)).length
      assert.is(named('anonymous-'), 5)
      assert.is(named('app-'), 10)
      assert.is(named('good-'), 10)
      assert.is(named('again-'), 5)
      assert.equal(
        rows.filter(({ summary }) => summary).map(({ time, status, count }) => ({ time, status, count })),
        [
          { time: '2026-01-15T12:00:01.000Z', status: 404, count: 2 },
          { time: '2026-01-15T12:00:00.000Z', status: 404, count: 25 },
        ],
      )
    },
    { store: true, refused_per_second: 5 },
  ))

test('refused_per_second = 0 stores every one', () =>
  withServer(
    async (server) => {
      for (let n = 0; n < 30; n += 1) await get(server, '/Patient/none', `r-${n}`)
      assert.is((await idsOf(server, '?_count=1000')).length, 30)
    },
    { store: true, refused_per_second: 0 },
  ))

test('what the database does not take is stored later', async () => {
  const clock = createManualClock()
  const { plugin, watch } = watchedDatabase()
  const settings = { request_log: { store: true } }
  const server = await serverWith({ plugins: [plugin, ...plugins.slice(1)], settings, clock })
  watch.refuses = true
  await get(server, '/Patient', 'r-1')
  await clock.advance(1000)
  watch.refuses = false
  assert.equal(await idsOf(server, ''), ['r-1'])
  await server.stop()
})

test('what is asked for in another way is refused, saying what is known', async () => {
  const server = storing
  for (const [query, message] of [
    [
      '?patient=x',
      '/_requests has no parameter "patient"; it takes client, status, class, from, to, request, _count, _page, _pretty.',
    ],
    ['?status=ok', 'The parameter status takes a number from 100 to 599.'],
    ['?class=x', 'The parameter class takes one of read, search, write, bundle, operation, export, sync, admin.'],
    ['?from=yesterday', 'The parameter from takes an instant such as 2026-11-21T20:00:00Z, or a day in UTC.'],
    ['?to=2026-13-01', 'The parameter to takes an instant such as 2026-11-21T20:00:00Z, or a day in UTC.'],
    ['?_count=1001', 'The parameter _count takes a number from 1 to 1000.'],
    ['?_page=-1', 'The parameter _page takes a number from 1 to 9007199254740991.'],
  ] as const) {
    const answer = await server.inject(`/_requests${query}`)
    assert.is(answer.statusCode, 400, query)
    assert.is((answer.json() as any).issue[0].diagnostics, message)
  }
})

test('without store there is no address, and turned off there is no tap either', async () => {
  const tapsOf = async (server: TestServer): Promise<readonly string[]> =>
    (await server.describe()).flatMap(({ hooks }) => hooks).filter((hook) => hook.startsWith('meter'))
  const off = await serverWith({ plugins, settings: { request_log: { enabled: false, store: true } } })
  for (const [server, taps, status] of [
    [storing, ['meter: log', 'meter: store'], 200],
    [plain, ['meter: log'], 404],
    [off, [], 404],
  ] as const) {
    assert.equal(await tapsOf(server), taps)
    assert.is((await server.inject('/_requests')).statusCode, status)
    const answer = await server.inject('/Patient')
    assert.is(answer.statusCode, 200)
    assert.match(String(answer.headers['x-request-id']), UUID)
  }
  await off.stop()
})

test.run()
