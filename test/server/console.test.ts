/** Pages for operators at /_console: who may see them, and what they show. */
// database: sqlite and memory, because pages are made of what services say, which have tests on PostgreSQL, too
// memory: long reads have no thread of their own there
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnyPlugin, definePlugin } from '../../kernel/index.ts'
import audit from '../../plugins/audit/index.ts'
import cluster from '../../plugins/cluster/index.ts'
import consolePlugin from '../../plugins/console/index.ts'
import { Database } from '../../plugins/database/service.ts'
import html from '../../plugins/html/index.ts'
import jobs from '../../plugins/jobs/index.ts'
import { Jobs } from '../../plugins/jobs/service.ts'
import metering from '../../plugins/metering/index.ts'
import requestLog from '../../plugins/request-log/index.ts'
import { chosenKind } from '../support/database-kinds.ts'
import { foreignMarkup, HOSTILE, tagsOf } from '../support/hostile-texts.ts'
import { createManualClock, type ManualClock } from '../support/manual-clock.ts'
import { named } from '../support/named-callers.ts'
import { scopedCallers, tokenHeaders } from '../support/scoped-callers.ts'
import { basic, serverWith, type TestServer } from '../support/server-with.ts'

const FHIR = { 'content-type': 'application/fhir+json' }
const BROWSER = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }
const PAGES = ['', '/search', '/audit', '/usage', '/jobs', '/slow'].map((path) => `/_console${path}`)
const ON = { console: { enabled: true }, request_log: { store: true }, conformance: { update_as_create: true } }

/** Stores jobs that nobody works on. */
const addJob = async (server: TestServer, id: string, client: string): Promise<void> => {
  const service = server.get(Jobs)
  const job = { id, kind: 'test', client, person: '', spec: '{"patients":["hidden"]}', ruling: '', upto: 0 }
  await server.get(Database).transact(async (transaction) => service.enqueue(transaction, job))
}
const failing: AnyPlugin = definePlugin({
  name: 'slow-and-failing',
  setup({ routes }) {
    routes((app, _options, done) => {
      app.get('/slow/:id', async (_request, reply) => {
        await clock?.advance(2_500)
        return reply.send('done')
      })
      done()
    })
  },
})
let clock: ManualClock | undefined

const all = [...basic, html, cluster, jobs, metering, requestLog, consolePlugin, audit]
const withServer = async (
  work: (server: TestServer) => Promise<void>,
  plugins: readonly AnyPlugin[] = [...all, named, failing],
  settings: Record<string, unknown> = ON,
): Promise<void> => {
  clock = createManualClock()
  const server = await serverWith({ plugins, settings, clock })
  try {
    await work(server)
  } finally {
    await server.stop()
  }
}
const get = (server: TestServer, url: string, headers: Record<string, string> = {}) =>
  server.inject({ url, headers: { ...BROWSER, ...headers } })
const pageOf = async (server: TestServer, url: string): Promise<string> => {
  const { statusCode, headers, body } = await get(server, url)
  assert.is(statusCode, 200, `${url}: ${body}`)
  assert.is(headers['content-type'], 'text/html; charset=utf-8')
  return body
}
/** What a reader sees, in one line. */
const textOf = (page: string): string =>
  page
    .replace(/<style>[\s\S]*?<\/style>/, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
const hrefsOf = (page: string): readonly string[] =>
  tagsOf(page).flatMap(({ attributes }) => attributes.get('href')?.replaceAll('&amp;', '&') ?? [])

test('it is off unless asked for', () =>
  withServer(
    async (server) => {
      for (const url of PAGES) assert.is((await get(server, url)).statusCode, 404, url)
    },
    all,
    {},
  ))

test('each page is for callers who may read the whole trail, as /_audit is', () =>
  withServer(
    async (server) => {
      for (const url of [...PAGES, '/_console/jobs/none']) {
        for (const scope of ['system/Patient.read', 'user/AuditEvent.rs?patient=Patient/1', 'patient/*.read']) {
          const refused = await get(server, url, tokenHeaders({ scope, patient: 'p1' }))
          assert.is(refused.statusCode, 403, `${url} with ${scope}`)
          assert.not.match(refused.body, /class="tabs"/)
        }
        const seen = await get(server, url, tokenHeaders({ scope: 'system/AuditEvent.read' }))
        assert.is(seen.statusCode, url.endsWith('none') ? 404 : 200, `${url}: ${seen.body}`)
      }
    },
    [...all, scopedCallers],
  ))

test('pages have a strict policy, no script, no cache, and links to this server only; other methods are refused', () =>
  withServer(async (server) => {
    for (const url of PAGES) {
      const { headers, body } = await get(server, url)
      assert.match(
        String(headers['content-security-policy']),
        /^default-src 'none'; style-src 'sha256-[^']+'; frame-ancestors/,
      )
      assert.is(headers['cache-control'], 'no-store')
      assert.is(headers['x-frame-options'], 'DENY')
      assert.equal(foreignMarkup(body), [], url)
      for (const href of hrefsOf(body)) assert.match(href, /^(\/(?!\/)|#content)/, `${href} on ${url}`)
      for (const method of ['POST', 'PUT', 'DELETE', 'PATCH'] as const) {
        const refused = await server.inject({ method, url, headers: FHIR, payload: method === 'DELETE' ? '' : '{}' })
        assert.is(refused.statusCode, 405, `${method} ${url}`)
        assert.is(refused.headers.allow, 'GET, HEAD')
      }
      assert.is((await server.inject({ method: 'HEAD', url })).statusCode, 200)
      assert.is((await get(server, `${url}?nonsense=1`)).statusCode, 400)
    }
  }))

test('the overview shows version, status, role, database, uptime, memory, and the resources counted once a minute', () =>
  withServer(async (server) => {
    const create = (type: string) => {
      const contained = type === 'Practitioner' ? [{ resourceType: 'Patient', id: 'inside' }] : undefined
      const payload = JSON.stringify({ resourceType: type, contained })
      return server.inject({ method: 'POST', url: `/${type}`, headers: FHIR, payload })
    }
    const { id } = (await create('Patient')).json() as { id: string }
    for (const type of ['Patient', 'Patient', 'Practitioner']) assert.is((await create(type)).statusCode, 201)
    assert.is((await server.inject({ method: 'DELETE', url: `/Patient/${id}` })).statusCode, 204)
    await clock?.leap(3 * 3_600_000 + 60_000)
    await addJob(server, 'a'.repeat(32), 'app')
    const first = textOf(await pageOf(server, '/_console'))
    assert.match(first, /Status ok Role primary Version \d+\.\d+\.\d+\S*, Node\.js v\d+/)
    assert.match(first, /Running for 3 h 1 min/)
    assert.match(first, /Memory [\d.,]+ [GM]B of the process/)
    assert.match(first, new RegExp(`Database ${chosenKind.name} `))
    assert.match(first, /3 resources, counted at 2026-01-15 15:01:00 UTC/)
    assert.match(first, /Patient 2 Practitioner 1 /, 'deleted and contained resources are not counted')
    assert.match(first, /Jobs that run or wait 1 job; times in UTC .* test queued app/)
    assert.is(/Servers of the database 1 server .* primary /.test(first), chosenKind.name === 'postgres')
    await create('Patient')
    assert.match(textOf(await pageOf(server, '/_console')), /3 resources, counted at 2026-01-15 15:01:00/)
    await clock?.advance(60_000)
    assert.match(textOf(await pageOf(server, '/_console')), /4 resources, counted at 2026-01-15 15:02:00/)
  }))

test('a search goes to the page of the search, on this server only', () =>
  withServer(async (server) => {
    const to = async (query: string) => {
      const { statusCode, headers } = await get(server, `/_console/search?${query}`)
      return [statusCode, headers.location]
    }
    assert.equal(await to('type=Patient&query='), [303, '/Patient'])
    assert.equal(await to(`type=Patient&query=${encodeURIComponent('name=peter&birthdate=ge1974')}`), [
      303,
      '/Patient?name=peter&birthdate=ge1974',
    ])
    assert.equal(await to(`type=Patient&query=${encodeURIComponent('\r\nx: y')}`), [303, '/Patient?%0D%0Ax%3A+y='])
    for (const type of ['%2F%2Fevil.example.org', 'Nothing', '..%2F_audit', 'javascript%3Ax'])
      assert.equal(await to(`type=${type}`), [400, undefined], type)
  }))

test('the audit trail is filtered and paged, and looking at it is recorded', () =>
  withServer(async (server) => {
    const headers = { 'x-test-client': 'lab', 'x-test-user': 'Practitioner/p1' }
    const payload = '{"resourceType":"Patient","id":"p7"}'
    await server.inject({ method: 'PUT', url: '/Patient/p7', headers: { ...FHIR, ...headers }, payload })
    for (let n = 0; n < 60; n += 1) await server.inject({ url: `/Patient/p${n}`, headers })
    const rows = (page: string): number => page.match(/<td data-label="Time">/g)?.length ?? 0
    const first = await pageOf(server, '/_console/audit?agent=lab&patient=&outcome=4&from=2026-01-15&to=2026-01-15')
    assert.is(rows(first), 50)
    assert.match(textOf(first), /Practitioner\/p1 by lab read Patient\/p59 .*404/)
    const next = hrefsOf(first).find((href) => href.includes('_page='))
    assert.is(rows(await pageOf(server, next as string)), 9)
    for (const [query, count] of [
      ['entity=Patient/p8', 1],
      ['entity=Patient/p7', 2],
      ['agent=lab&outcome=0', 2],
      ['agent=lab&to=2026-01-14', 0],
      ['agent=lab&action=D', 0],
      ['agent=lab&action=R', 50],
      ['agent=Practitioner/p1&subtype=read', 50],
      ['patient=Patient/p7', 2],
    ] as const)
      assert.is(rows(await pageOf(server, `/_console/audit?${query}`)), count, query)
    const own = textOf(await pageOf(server, '/_console/audit?subtype=admin'))
    assert.match(own, /anonymous, \S+ admin _audit 200/)
    for (const [url, name] of [
      ['/_console', '_console'],
      ['/_console/usage', '_usage'],
      ['/_console/slow', '_requests'],
    ] as const) {
      await pageOf(server, url)
      const events = textOf(await pageOf(server, '/_console/audit?subtype=admin'))
      assert.match(events, new RegExp(`admin ${name} 200`), url)
    }
    assert.is((await get(server, '/_console/audit?from=yesterday')).statusCode, 400)
  }))

test('usage is shown by day and client', () =>
  withServer(async (server) => {
    for (const [client, count] of [
      ['lab', 3],
      ['ward', 1],
    ] as const)
      for (let n = 0; n < count; n += 1)
        await server.inject({ url: '/Patient/x', headers: { 'x-test-client': client } })
    await server.inject('/Patient/x')
    await clock?.leap(2 * 86_400_000)
    await server.inject({ url: '/Patient/x', headers: { 'x-test-client': 'lab' } })
    const week = await pageOf(server, '/_console/usage?days=7&client=')
    assert.match(textOf(week), /2026-01-17 1 \S+ B \S+ B 2026-01-16 0 0 B 0 B 2026-01-15 5 /)
    assert.match(textOf(week), /lab 4 \S+ B .* callers without a token 1 .* ward 1 /)
    assert.equal(
      [...week.matchAll(/<rect [^>]*height="(\d+)"><title>(\S+):/g)].map(([, height, day]) => [day, height]).slice(-3),
      [
        ['2026-01-15', '100'],
        ['2026-01-16', '0'],
        ['2026-01-17', '20'],
      ],
    )
    assert.match(textOf(await pageOf(server, '/_console/usage?days=7&client=lab')), /by day of lab .* 2026-01-15 3 /)
    const without = hrefsOf(week).find((href) => href.includes('anonymous'))
    assert.match(textOf(await pageOf(server, without as string)), /without a token .* 2026-01-15 1 /)
    assert.is((await get(server, '/_console/usage?days=8')).statusCode, 400)
  }))

test('jobs are listed newest first in pages, and one is shown without its specification', () =>
  withServer(async (server) => {
    assert.match(textOf(await pageOf(server, '/_console/jobs')), /No jobs/)
    const idOf = (n: number): string => String(n).padStart(32, '0')
    for (let n = 0; n < 52; n += 1) {
      await clock?.advance(1_000)
      await addJob(server, idOf(n), 'lab')
    }
    const links = (page: string) => hrefsOf(page).filter((href) => /^\/_console\/jobs\/\d/.test(href))
    const first = await pageOf(server, '/_console/jobs')
    assert.is(links(first).length, 50)
    assert.is(links(first)[0], `/_console/jobs/${idOf(51)}`)
    const next = hrefsOf(first).find((href) => href.includes('after='))
    assert.equal(links(await pageOf(server, next as string)), [
      `/_console/jobs/${idOf(1)}`,
      `/_console/jobs/${idOf(0)}`,
    ])
    await server.get(Jobs).cancel(idOf(1))
    const one = await pageOf(server, `/_console/jobs/${idOf(1)}`)
    assert.match(textOf(one), /Kind test State cancelled Attempts 0 Client lab Created 2026-01-15 12:00:02 Ended/)
    assert.not.match(textOf(one), /patients/)
    for (const id of [idOf(99), 'x', '%3Cscript%3E']) {
      const { statusCode, body } = await get(server, `/_console/jobs/${id}`)
      assert.is(statusCode, 404)
      assert.equal(foreignMarkup(body), [])
    }
  }))

test('slow requests are those that took longest, by route, with the id of the request', () =>
  withServer(async (server) => {
    await server.inject({ url: '/Patient/x', headers: { 'x-request-id': 'quick-one' } })
    await server.inject({ url: '/slow/1?secret=1', headers: { 'x-request-id': 'slow-one', 'x-test-client': 'lab' } })
    await server.inject({ url: '/a/b/c/d/e', headers: { 'x-request-id': 'lost-one' } })
    const page = textOf(await pageOf(server, '/_console/slow'))
    assert.match(page, /X-Request-Id 2500 ms GET \/slow\/:id 200 lab 2026-01-15 12:00:00 slow-one/)
    assert.ok(page.indexOf('slow-one') < page.indexOf('quick-one'), page)
    assert.match(page, /GET no route 404/)
    assert.not.match(page, /secret/)
    const ofLab = textOf(await pageOf(server, '/_console/slow?client=lab'))
    assert.match(ofLab, /slow-one/)
    assert.not.match(ofLab, /quick-one/)
    await clock?.leap(30 * 60_000)
    assert.not.match(textOf(await pageOf(server, '/_console/slow?minutes=15')), /slow-one/)
  }))

test('what is turned off is a page that says how to turn it on', () =>
  withServer(
    async (server) => {
      assert.match(textOf(await pageOf(server, '/_console/audit')), /No audit trail is kept.*\[audit\] enabled = true/)
      assert.match(textOf(await pageOf(server, '/_console/usage')), /not counted.*\[metering\] enabled = true/)
      assert.match(textOf(await pageOf(server, '/_console/slow')), /not stored.*\[request_log\] .*store = true/)
      assert.match(textOf(await pageOf(server, '/_console')), /Status ok/)
    },
    all,
    { console: { enabled: true }, audit: { enabled: false }, metering: { enabled: false }, html: { enabled: false } },
  ))

test('no text of a client becomes markup', () =>
  withServer(async (server) => {
    for (const [at, text] of HOSTILE.entries()) {
      // What a header cannot carry comes by the job.
      const client = text.replaceAll(/[^\x20-\x7e]/g, '')
      await server.inject({ url: '/Patient/x', headers: { 'x-test-client': client, 'x-test-user': client } })
      await addJob(server, String(at).padStart(32, '0'), text)
      await pageOf(server, `/_console/jobs/${String(at).padStart(32, '0')}`)
    }
    const encoded = HOSTILE.map(encodeURIComponent)
    const addresses = [
      ...PAGES,
      ...HOSTILE.map((_, at) => `/_console/jobs/${String(at).padStart(32, '0')}`),
      ...encoded.flatMap((text) => [
        ...[`/_console/audit?agent=${text}`, `/_console/audit?patient=${text}`, `/_console/audit?from=${text}`],
        ...[`/_console/usage?client=${text}`, `/_console/usage?days=${text}`, `/_console/slow?client=${text}`],
        ...[`/_console/search?query=${text}`, `/_console/search?type=${text}`, `/_console/jobs?after=${text}`],
        ...[`/_console?${text}=1`, `/_console/jobs/${text}`],
      ]),
    ]
    for (const url of addresses) {
      const { body, headers } = await get(server, url)
      assert.is(headers['content-type'], 'text/html; charset=utf-8', url)
      assert.equal(foreignMarkup(body), [], url)
      for (const href of hrefsOf(body)) assert.match(href, /^(\/(?![/\\])|#content)/, `${href} on ${url}`)
    }
    const shown = await pageOf(server, '/_console/usage')
    assert.match(shown, /&lt;script&gt;window\.pwned=1/, 'the hostile client is on the page')
  }))

test.run()
