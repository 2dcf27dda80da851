/** Three servers on one PostgreSQL: what one has issued, used or ended counts on all. */
// database: postgres, on which several servers share what is stored
import pg from 'pg'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type FreshDatabase, postgresKind } from '../../support/database-kinds.ts'
import {
  type App,
  askFor,
  bearing,
  codeOf,
  exchange,
  freshForClinic,
  goThrough,
  loginClinic,
  refresh,
  registerApp,
  type Tokens,
  tokensOf,
} from '../../support/login-clinic.ts'
import type { AnsweringServer, TestServer } from '../../support/server-with.ts'
import { askToken, assertionOf, BUILT_IN_BASIC, postForm, registerService } from '../../support/smart-server.ts'
import { createTestBrowser } from '../../support/test-browser.ts'
import { raceTokens } from '../../support/token-races.ts'
import { until } from '../../support/until.ts'

const SERVERS = 3
const ROUNDS = 2 // `npm run check:races` has hundreds
const ATTEMPTS = 4
const SCOPE = 'launch/patient patient/*.rs offline_access'

let fresh: FreshDatabase
let servers: readonly [TestServer, TestServer, TestServer]
let app: App

test.before(async () => {
  fresh = await freshForClinic(postgresKind)
  const all: TestServer[] = []
  for (let n = 0; n < SERVERS; n += 1) all.push(await loginClinic({ settings: fresh.settings, together: true }))
  servers = all as unknown as typeof servers
  app = await registerApp(servers[0])
})
test.after(async () => {
  for (const server of servers) await server.stop()
  await fresh.remove()
})

const read = async (server: AnsweringServer, { access_token: token }: Tokens): Promise<number> =>
  (await server.inject({ url: '/Patient/p1', headers: bearing(token) })).statusCode
const refused = (servers: readonly AnsweringServer[], tokens: Tokens): Promise<unknown> =>
  until(
    async () => (await Promise.all(servers.map((server) => read(server, tokens)))).every((one) => one === 401),
    10_000,
    'all servers to refuse the token',
  )

test('fifty requests at once on three servers use a code, a refresh token or an assertion once, and end nothing else', async () => {
  let ended = 0
  // Where this process has to wait for the processor, its last request may leave when the answer to the first is there,
  // and then it is a reuse.
  for (let attempt = 1; attempt === 1 || (ended > 0 && attempt <= ATTEMPTS); attempt += 1) {
    const { codes, refreshes, assertions, survivors, killed, faults } = await raceTokens(servers, {
      rounds: ROUNDS,
      at: 50,
    })
    assert.equal(codes, [1, 1])
    assert.equal(refreshes, [1, 1])
    assert.equal(assertions, [1, 1])
    assert.is(survivors, 0, 'what a code gave ends when it is used again')
    assert.equal(faults, [])
    ended = killed
  }
  assert.is(ended, 0, 'refreshes that overlap are no reuse')
})

test('of two refreshes that overlap on two servers one gets tokens, which last', async () => {
  const [one, two] = servers
  for (let round = 0; round < 5; round += 1) {
    const { refresh_token: token = '' } = await tokensOf(one, app, SCOPE)
    const answers = await Promise.all([refresh(one, app, token), refresh(two, app, token)])
    assert.equal(answers.map(({ statusCode }) => statusCode).sort(), [200, 400])
    const won = answers.find(({ statusCode }) => statusCode === 200)?.json() as Tokens
    for (const server of servers) assert.is(await read(server, won), 200)
    assert.is((await refresh(two, app, won.refresh_token as string)).statusCode, 200)
  }
})

test('a refresh token that is used again on another server, once the answer is there, ends the family', async () => {
  const [one, two] = servers
  const first = await tokensOf(one, app, SCOPE)
  const second = (await refresh(one, app, first.refresh_token as string)).json() as Tokens
  const { postgres_url: connectionString } = fresh.settings.database as { postgres_url: string }
  const at = new pg.Client({ connectionString })
  await at.connect()
  await at.query('UPDATE oauth_token SET consumed_at = consumed_at - 1100 WHERE consumed_at IS NOT NULL')
  await at.end()
  const again = await refresh(two, app, first.refresh_token as string)
  assert.is(again.json().error, 'invalid_grant')
  assert.is((await refresh(one, app, second.refresh_token as string)).json().error, 'invalid_grant')
  await refused(servers, second)
})

test('a refresh token that is used again where it was used ends the family at once', async () => {
  const [one] = servers
  const first = await tokensOf(one, app, SCOPE)
  const second = (await refresh(one, app, first.refresh_token as string)).json() as Tokens
  assert.is((await refresh(one, app, first.refresh_token as string)).statusCode, 400)
  assert.is(await read(one, second), 401)
  await refused(servers, second)
})

test('a login goes on, a code is exchanged and a token is used on whichever server gets the request', async () => {
  let turn = 0
  const next: AnsweringServer = {
    inject: ((asked: never) => {
      turn += 1
      return (servers[turn % SERVERS] as TestServer).inject(asked)
    }) as AnsweringServer['inject'],
  }
  for (let n = 0; n < 3; n += 1) {
    const asked = askFor(app, SCOPE)
    const code = codeOf(await goThrough(createTestBrowser(next), asked.url))
    const tokens = (await exchange(next, app, code, asked.verifier)).json() as Tokens
    for (const server of servers) assert.is(await read(server, tokens), 200)
    assert.is((await exchange(next, app, code, asked.verifier)).json().error, 'invalid_grant', 'the code again')
    await refused(servers, tokens)
  }
})

test('an assertion that one server has taken is refused by the others, however many come at once', async () => {
  const [one] = servers
  const service = await registerService(one)
  const proof = await assertionOf(service)
  const answers = await Promise.all(Array.from({ length: 30 }, (_, n) => askToken(servers[n % 3] as TestServer, proof)))
  assert.is(answers.filter(({ statusCode }) => statusCode === 200).length, 1)
  assert.ok(answers.every(({ statusCode, body }) => statusCode === 200 || body.includes('invalid_client')))
  for (const server of servers) assert.is((await askToken(server, proof)).statusCode, 401)
})

test('what is revoked, and what a logout ends, is refused by all servers', async () => {
  const [one, two, three] = servers
  const revoked = await tokensOf(one, app, SCOPE)
  const online = createTestBrowser(one)
  const session = await tokensOf(one, app, 'launch/patient patient/*.rs online_access', {}, online)
  for (const tokens of [revoked, session]) for (const server of servers) assert.is(await read(server, tokens), 200)
  const form = { token: revoked.refresh_token as string, client_id: app.id }
  assert.is((await postForm(two, '/oauth/revoke', form)).statusCode, 200)
  assert.is(await read(two, revoked), 401, 'at once where it was revoked')
  await refused(servers, revoked)
  for (const server of servers) assert.is(await read(server, session), 200)
  const asked = await online.open('/oauth/logout')
  const csrf = /name="csrf" value="([^"]+)"/.exec(asked.body)?.[1] ?? ''
  const loggedOut = await online.post('/oauth/logout', { csrf })
  assert.is(loggedOut.status, 200)
  await refused(servers, session)
  const about = await postForm(
    three,
    '/oauth/introspect',
    { token: session.access_token },
    { authorization: BUILT_IN_BASIC },
  )
  assert.equal(about.json(), { active: false })
})

test.run()
