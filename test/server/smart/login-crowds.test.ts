/** What many logins at once cost: the rate limit of one address, cookies of a browser, and rows in the database. */
// npm test: postgres, where transactions overlap
import { randomBytes } from 'node:crypto'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { Database, sql } from '../../../plugins/database/service.ts'
import { type App, askFor, exchange, loginClinic, registerApp, returned } from '../../support/login-clinic.ts'
import { createManualClock, type ManualClock } from '../../support/manual-clock.ts'
import type { TestServer } from '../../support/server-with.ts'
import { sharedByTests } from '../../support/shared-by-tests.ts'
import { BUILT_IN_BASIC, postForm } from '../../support/smart-server.ts'
import { createTestBrowser } from '../../support/test-browser.ts'
import { until } from '../../support/until.ts'

const SCOPE = 'openid launch/patient patient/*.rs'
const PENDING = sql('test.pending', 'SELECT count(*) AS n FROM oauth_request')
const PENDING_OF = sql('test.pending-of', 'SELECT count(*) AS n FROM oauth_request WHERE client_id = ?')
const BATCH = 500
const WAIT_MS = 10_000
const PREFILL = sql(
  'test.prefill',
  `INSERT INTO oauth_request (id_hash, cookie_hash, client_id, params, step, session_hash, chosen, expires_at)
   VALUES ${Array.from({ length: BATCH }, () => "(?, ?, ?, '{}', 'login', NULL, '{}', ?)").join(', ')}`,
)

let server: TestServer
let app: App
let clock: ManualClock

const limitedClinic = sharedByTests(
  async () => {
    const own = createManualClock()
    const settings = { rate_limit: { requests_per_second: 50, burst: 100, auth_failures_per_minute: 5, servers: 1 } }
    return { clock: own, server: await loginClinic({ clock: own, settings }) }
  },
  (clinic) => clinic.server.stop(),
)
/** Gives a server with limits of which nothing is used. */
const limited = async () => {
  ;({ server, clock } = await limitedClinic())
  await clock.advance(10_000)
  app = await registerApp(server)
  await clock.advance(10_000)
}

test('three people behind one address log in at once under the limits of the sample', async () => {
  await limited()
  const people = [0, 1, 2].map(() => ({ browser: createTestBrowser(server), asked: askFor(app, SCOPE) }))
  const logins = await Promise.all(people.map(({ browser, asked }) => browser.open(asked.url)))
  for (const page of logins) assert.is(page.status, 200, page.body.slice(-400))
  let pages = logins
  for (const fields of [{ username: 'a' }, { patient: 'p1' }, { decision: 'allow' }]) {
    await clock.advance(5_000) // for them to read and type
    pages = await Promise.all(people.map(({ browser }, at) => browser.submit(pages[at] as never, fields)))
    for (const page of pages) assert.ok(page.hasLeft || page.status === 200, page.body.slice(-400))
  }
  for (const [at, { asked }] of people.entries()) {
    const code = returned(pages[at] as never).get('code') as string
    assert.is((await exchange(server, app, code, asked.verifier)).statusCode, 200)
  }
})

test('the addresses that apps and resource servers ask often cost as much as a read', async () => {
  await limited()
  for (const ask of [
    () => postForm(server, '/oauth/introspect', { token: 'x' }, { authorization: BUILT_IN_BASIC }),
    () => server.inject({ url: '/oauth/jwks' }),
    () => server.inject({ url: '/.well-known/smart-configuration' }),
    () => server.inject({ url: '/oauth/logout' }),
    () => server.inject({ url: askFor(app, SCOPE).url }),
  ]) {
    await clock.advance(10_000)
    const answers = []
    for (let turn = 0; turn < 11; turn += 1) answers.push((await ask()).statusCode)
    assert.is(answers.filter((one) => one < 400).length, 10, String(ask))
    assert.is(answers.at(-1), 429, String(ask))
  }
})

test('the page tells too many requests from too many failures, and for how long', async () => {
  await limited()
  const { url } = askFor(app, SCOPE)
  for (let turn = 0; turn < 10; turn += 1) await server.inject({ url })
  const requests = await server.inject({ url })
  assert.is(requests.statusCode, 429)
  assert.is(requests.headers['retry-after'], '1')
  assert.match(requests.body, 'Too many requests')
  assert.match(requests.body, '1 second')
  assert.not.match(requests.body, 'failed')
  await clock.advance(10_000)
  const wrong = () => postForm(server, '/oauth/token', { grant_type: 'refresh_token', client_id: 'unknown' })
  for (let turn = 0; turn < 5; turn += 1) assert.is((await wrong()).statusCode, 401)
  const failures = await wrong()
  assert.is(failures.statusCode, 429, 'failures stay limited')
  assert.is(failures.json().error, 'temporarily_unavailable')
})

test('a browser keeps the cookies of its last eight logins', async () => {
  server = await loginClinic()
  try {
    app = await registerApp(server)
    const browser = createTestBrowser(server)
    const first = await browser.open(askFor(app, SCOPE).url)
    for (let turn = 0; turn < 40; turn += 1) {
      const page = await browser.open(askFor(app, SCOPE).url)
      assert.is(page.status, 200)
      assert.ok([...browser.cookies].length <= 8, `${browser.cookies.size} cookies`)
    }
    assert.is((await browser.open(first.url)).status, 403, 'the oldest is gone')
    const last = await browser.open(askFor(app, SCOPE).url)
    assert.is((await browser.submit(last, { username: 'a' })).status, 200)
    // Cookies that piled up before go as well.
    for (let at = 0; at < 60; at += 1)
      browser.cookies.set(`__Host-smart-login-${at.toString(16).padStart(16, '0')}`, 'x'.repeat(87))
    await browser.open(askFor(app, SCOPE).url)
    assert.is([...browser.cookies.keys()].filter((name) => name.includes('-login-')).length, 8)
  } finally {
    await server.stop()
  }
})

const countOf = async (of?: string): Promise<number> => {
  const database = server.get(Database)
  const row = await (of === undefined
    ? database.get<{ n: number }>(PENDING, [])
    : database.get<{ n: number }>(PENDING_OF, [of]))
  return Number(row?.n)
}
/** Stores pending logins of a client, each ending a millisecond after the one before. */
const prefill = (client: string, count: number, expiresAt: number) =>
  server.get(Database).transact(async (transaction) => {
    for (let at = 0; at < count; at += BATCH)
      await transaction.run(
        PREFILL,
        Array.from({ length: BATCH }, (_, row) => [
          randomBytes(32),
          randomBytes(32),
          client,
          expiresAt + at + row,
        ]).flat(),
      )
  })

test('logins that nobody has begun to finish are bounded, of one app and in all; the oldest make room', async () => {
  clock = createManualClock()
  server = await loginClinic({ clock })
  try {
    app = await registerApp(server)
    const other = await registerApp(server)
    const mine = createTestBrowser(server)
    await prefill(app.id, 5_000, clock.now() + 1_000)
    await prefill('x', 11_000, clock.now() - 20_000_000)
    const begun = await mine.open(askFor(app, SCOPE).url)
    assert.is(await countOf(app.id), 2_000, 'of one app')
    assert.is(await countOf('x'), 2_000)
    for (const client of ['y1', 'y2', 'y3', 'y4', 'y5']) await prefill(client, 2_000, clock.now() - 20_000_000)
    for (let turn = 0; turn < 256; turn += 1) await server.inject({ url: askFor(other, SCOPE).url })
    assert.ok((await countOf()) <= 8_000 + 256, `${await countOf()} in all`)
    assert.is((await mine.submit(begun, { username: 'a' })).status, 200, 'a younger login goes on')
  } finally {
    await server.stop()
  }
})

test('a login that nobody has begun to finish ends after ten minutes, and its row with it', async () => {
  clock = createManualClock()
  server = await loginClinic({ clock })
  try {
    app = await registerApp(server)
    const [idle, busy] = [createTestBrowser(server), createTestBrowser(server)]
    const [page, going] = [await idle.open(askFor(app, SCOPE).url), await busy.open(askFor(app, SCOPE).url)]
    await clock.leap(599_000)
    const picker = await busy.submit(going, { username: 'a' })
    assert.is(picker.status, 200)
    await clock.leap(2_000)
    assert.is((await idle.submit(page, { username: 'a' })).status, 400)
    await clock.leap(298_000)
    assert.is((await busy.submit(picker, { patient: 'p1' })).status, 200, 'after the login, fifteen minutes in all')
    await until(async () => (await countOf()) === 1, WAIT_MS, 'the row of the other one to be gone')
  } finally {
    await server.stop()
  }
})

test.run()
