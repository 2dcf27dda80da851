/** Usage per client, UTC day and class. Spec: [metering], /_usage. */
// npm test: postgres, on which it has a test more
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { AnyPlugin, Kernel } from '../../kernel/index.ts'
import metering from '../../plugins/metering/index.ts'
import { chosenKind } from '../support/database-kinds.ts'
import { createManualClock, type ManualClock } from '../support/manual-clock.ts'
import { named } from '../support/named-callers.ts'
import { basic, serverWith, type TestServer } from '../support/server-with.ts'
import { until } from '../support/until.ts'
import { watchedDatabase } from '../support/watched-database.ts'

const FHIR = { 'content-type': 'application/fhir+json' }
const PATIENT = '{"resourceType":"Patient"}'
const WINDOW_MS = 5_000
const plugins: readonly AnyPlugin[] = [...basic, named, metering]

interface Row {
  readonly client: string | null
  readonly day: string
  readonly class: string
  readonly requests: number
  readonly bytes_in: number
  readonly bytes_out: number
}

const usageOf = async (server: Kernel, query = ''): Promise<readonly Row[]> => {
  const answer = await server.inject(`/_usage${query}`)
  assert.is(answer.statusCode, 200, answer.body)
  return (answer.json() as { usage: Row[] }).usage
}
/** Without what asking itself used. */
const otherThanAdmin = (rows: readonly Row[]): readonly Row[] => rows.filter((row) => row.class !== 'admin')
const requestsOf = (rows: readonly Row[]): Record<string, number> =>
  Object.fromEntries(otherThanAdmin(rows).map((row) => [`${row.client} ${row.day} ${row.class}`, row.requests]))

const withServer = async (
  work: (server: TestServer, clock: ManualClock) => Promise<void>,
  settings: Record<string, unknown> = {},
): Promise<void> => {
  const clock = createManualClock()
  const server = await serverWith({ plugins, settings, clock })
  try {
    await work(server, clock)
  } finally {
    await server.stop()
  }
}

/** Tests whose clocks stand still share this server, each with clients of its own. */
let shared: TestServer
test.before(async () => {
  shared = await serverWith({ plugins, clock: createManualClock() })
})
test.after(() => shared.stop())

test('requests are counted by client, UTC day and class', () =>
  withServer(async (server, clock) => {
    const created = await server.inject({ method: 'POST', url: '/Patient', headers: FHIR, payload: PATIENT })
    const { id } = created.json() as { id: string }
    await server.inject({ url: `/Patient/${id}`, headers: { 'x-test-client': 'app' } })
    await server.inject({ url: `/Patient/${id}`, headers: { 'x-test-client': 'app' } })
    await server.inject({ url: '/Patient', headers: { 'x-test-client': 'app' } })
    await server.inject({ url: '/Patient/none', headers: { 'x-test-client': 'other' } })
    await clock.leap(12 * 3_600_000) // midnight in UTC
    await server.inject({ url: '/Patient', headers: { 'x-test-client': 'app' } })
    assert.equal(requestsOf(await usageOf(server)), {
      'null 2026-01-15 write': 1,
      'app 2026-01-15 read': 2,
      'app 2026-01-15 search': 1,
      'other 2026-01-15 read': 1,
      'app 2026-01-16 search': 1,
    })
  }))

test('filters choose client, days and class', () =>
  withServer(async (server, clock) => {
    for (let day = 0; day < 3; day += 1) {
      for (const client of ['a', 'b'])
        for (const url of ['/Patient/none', '/Patient'])
          await server.inject({ url, headers: { 'x-test-client': client } })
      await clock.leap(24 * 3_600_000)
    }
    const count = async (query: string): Promise<number> => otherThanAdmin(await usageOf(server, query)).length
    assert.is(await count(''), 12)
    assert.is(await count('?client=a'), 6)
    assert.is(await count('?class=read'), 6)
    assert.is(await count('?from=2026-01-16'), 8)
    assert.is(await count('?to=2026-01-16'), 8)
    assert.is(await count('?from=2026-01-16&to=2026-01-16&client=b&class=search'), 1)
    assert.is(await count('?client=nobody'), 0)
    // An empty client is the callers without a token: here only who asked.
    assert.ok((await usageOf(server, '?client=')).every((row) => row.client === null))
  }))

test('pages hold every row once, in JSON and in CSV', async () => {
  const server = shared
  const clients = Array.from({ length: 25 }, (_, at) => `client-${String(at).padStart(2, '0')}`)
  for (const client of clients) await server.inject({ url: '/Patient', headers: { 'x-test-client': client } })
  const seen: (string | null)[] = []
  let url: string | undefined = '/_usage?class=search&_count=10'
  for (let pages = 0; url !== undefined; pages += 1) {
    assert.ok(pages < 4)
    const { usage, next } = (await server.inject(url)).json() as { usage: Row[]; next?: string }
    seen.push(...usage.map((row) => row.client))
    url = next
  }
  assert.equal(seen, clients)
  const csv = await server.inject({ url: '/_usage?class=search&_count=10', headers: { accept: 'text/csv' } })
  assert.is(csv.headers['content-type'], 'text/csv; charset=utf-8; header=present')
  assert.is(csv.body.split('\r\n').length, 12)
  const link = /^<([^>]+)>; rel="next"$/.exec(String(csv.headers.link))?.[1] ?? ''
  assert.match((await server.inject(`${link}&_format=csv`)).body, 'client-10,2026-01-15,search,1,')
})

test('a client that looks like a formula or holds a comma stays text in CSV', async () => {
  const server = shared
  for (const client of ['=1+1', 'a,"b"']) await server.inject({ url: '/Patient', headers: { 'x-test-client': client } })
  const { body } = await server.inject('/_usage?class=search&_format=csv')
  assert.match(body, "'=1+1,2026-01-15,search,1,")
  assert.match(body, '"a,""b""",2026-01-15,search,1,')
})

test('what is asked for in another way is refused, saying what is known', async () => {
  const server = shared
  for (const [query, message] of [
    ['?user=x', '/_usage has no parameter "user"; it takes client, from, to, class, _count, _page, _format, _pretty.'],
    ['?client=a&client=b', 'The parameter client takes one value; it is given twice.'],
    ['?client=%00', 'The parameter client takes no NUL character.'],
    ['?from=yesterday', 'The parameter from takes a day such as 2026-11-21, in UTC.'],
    ['?to=2026-02-30', 'The parameter to takes a day such as 2026-11-21, in UTC.'],
    ['?class=reads', 'The parameter class takes one of read, search, write, bundle, operation, export, sync, admin.'],
    ['?_count=0', 'The parameter _count takes a number from 1 to 10000.'],
    ['?_page=x', 'The parameter _page takes what the link to the next page holds.'],
    ['?_page=WyIiLCJcdTAwMDAiLCIiXQ', 'The parameter _page takes what the link to the next page holds.'], // a NUL
  ] as const) {
    const answer = await server.inject(`/_usage${query}`)
    assert.is(answer.statusCode, 400, query)
    assert.is((answer.json() as any).issue[0].diagnostics, message)
  }
  assert.is((await server.inject({ url: '/_usage', headers: { accept: 'text/html' } })).statusCode, 406)
  for (const format of ['xml', 'constructor', '__proto__'])
    assert.is((await server.inject(`/_usage?_format=${format}`)).statusCode, 406, format)
  assert.is((await server.inject({ url: '/_usage', headers: { accept: 'text/html, */*;q=0.8' } })).statusCode, 200)
  const posted = await server.inject({ method: 'POST', url: '/_usage', headers: FHIR, payload: PATIENT })
  assert.is(posted.statusCode, 405)
  assert.is(posted.headers.allow, 'GET, HEAD')
})

test('counts of a server that was stopped are added to by the next one', async () => {
  if (chosenKind.name === 'memory') return // it is gone with its server
  const place = await chosenKind.fresh()
  const clock = createManualClock()
  for (const expected of [1, 2]) {
    const server = await serverWith({ plugins, settings: place.settings, clock })
    await server.inject({ url: '/Patient', headers: { 'x-test-client': 'app' } })
    await clock.advance(WINDOW_MS)
    const seen = async (): Promise<boolean> => requestsOf(await usageOf(server))['app 2026-01-15 search'] === expected
    await until(seen, 10_000, `${expected} counted`)
    await server.inject({ url: '/Patient/none', headers: { 'x-test-client': 'app' } })
    await server.stop()
  }
  const last = await serverWith({ plugins, settings: place.settings, clock })
  assert.equal(requestsOf(await usageOf(last)), { 'app 2026-01-15 search': 2, 'app 2026-01-15 read': 2 })
  await last.stop()
  await place.remove()
})

test('counts are kept after each window and at a clean stop, and those of several servers add up', async () => {
  if (chosenKind.name !== 'postgres') return // a SQLite file has one server
  const place = await chosenKind.fresh()
  const clock = createManualClock()
  const first = await serverWith({ plugins, settings: place.settings, clock, together: true })
  await first.inject({ url: '/Patient', headers: { 'x-test-client': 'app' } })
  const second = await serverWith({ plugins, settings: place.settings, clock, together: true })
  assert.equal(requestsOf(await usageOf(second)), {}, 'still in the memory of the first')
  await clock.advance(WINDOW_MS)
  const seen = async (): Promise<boolean> => Object.keys(requestsOf(await usageOf(second))).length > 0
  await until(seen, 10_000, 'the counts of the first')
  assert.equal(requestsOf(await usageOf(second)), { 'app 2026-01-15 search': 1 })
  await first.inject({ url: '/Patient', headers: { 'x-test-client': 'app' } })
  await second.inject({ url: '/Patient', headers: { 'x-test-client': 'app' } })
  await first.stop()
  assert.equal(requestsOf(await usageOf(second)), { 'app 2026-01-15 search': 3 }, 'both add up in one row')
  await second.stop()
  await place.remove()
})

test('a flush that fails keeps its counts for the next', async () => {
  const clock = createManualClock()
  const { plugin, watch } = watchedDatabase()
  const server = await serverWith({ plugins: [plugin, ...plugins.slice(1)], clock })
  await server.inject({ url: '/Patient', headers: { 'x-test-client': 'app' } })
  watch.refuses = true
  await clock.advance(WINDOW_MS)
  const complaints = (): number =>
    server.lines.filter(({ msg }) => String(msg).startsWith('usage could not be kept')).length
  await until(() => complaints() > 0, 10_000, 'the flush that is refused')
  assert.is(complaints(), 1)
  await server.inject({ url: '/Patient', headers: { 'x-test-client': 'app' } })
  watch.refuses = false
  await clock.advance(WINDOW_MS)
  assert.equal(requestsOf(await usageOf(server)), { 'app 2026-01-15 search': 2 })
  await server.stop()
})

test('turned off, it taps nothing and has no address', async () => {
  const off = await serverWith({ plugins, settings: { metering: { enabled: false } } })
  const tapsOf = async (server: TestServer) => (await server.describe()).flatMap(({ hooks }) => hooks)
  assert.equal(
    (await tapsOf(shared)).filter((hook) => hook.startsWith('meter')),
    ['meter: count'],
  )
  assert.equal(
    (await tapsOf(off)).filter((hook) => hook.startsWith('meter')),
    [],
  )
  assert.is((await off.inject('/_usage')).statusCode, 404)
  assert.is((await off.inject('/Patient')).statusCode, 200)
  await off.stop()
})

test.run()
