/** Pages for operators at /_console: who may see them, and what they show. */
// database: sqlite and memory, because pages are made of what services say; console-overview.test.ts is on PostgreSQL, too
// memory: long reads have no thread of their own there
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  addJob,
  all,
  clockOfConsole,
  FHIR,
  get,
  hrefsOf,
  PAGES,
  pageOf,
  textOf,
  withServer,
} from '../support/console-server.ts'
import { foreignMarkup, HOSTILE } from '../support/hostile-texts.ts'
import { scopedCallers, tokenHeaders } from '../support/scoped-callers.ts'

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
    await clockOfConsole()?.leap(2 * 86_400_000)
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
    await clockOfConsole()?.leap(30 * 60_000)
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
