/** Refresh tokens: each is used once, and its family ends with whatever it depends on. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin } from '../../../kernel/index.ts'
import { Database, sql } from '../../../plugins/database/service.ts'
import {
  type App,
  bearing,
  clinicPlugins,
  loginClinic,
  refresh,
  registerApp,
  removeRecord,
  store,
  type Tokens,
  tokensOf,
} from '../../support/login-clinic.ts'
import { createManualClock, type ManualClock } from '../../support/manual-clock.ts'
import type { TestServer } from '../../support/server-with.ts'
import { BUILT_IN_BASIC, postForm } from '../../support/smart-server.ts'
import { createTestBrowser } from '../../support/test-browser.ts'

/** Holds each refresh, once it is stored, until the test lets it go on. */
let held: { readonly arrived: () => void; readonly gate: Promise<void> } | undefined
const holding = definePlugin({
  name: 'holding',
  setup({ hooks }) {
    hooks.onAudit.tapPromise('hold', async ({ interaction: { operation } }) => {
      if (operation !== 'refresh') return
      held?.arrived()
      await held?.gate
    })
  },
})

/** Takes a header for the mark of a server of the cluster that let the request pass. */
const RELAYED = { 'x-test-relayed': 'yes' }
const relaying = definePlugin({
  name: 'relaying',
  setup({ hooks }) {
    hooks.beforeRequest.tap('relayed', (request) => {
      if (request.headers['x-test-relayed'] !== undefined) request.markReceived()
      return undefined
    })
  },
})

let server: TestServer
let app: App
let clock: ManualClock

test.before(async () => {
  clock = createManualClock()
  server = await loginClinic({
    clock,
    plugins: [...clinicPlugins, holding, relaying],
    smart: { fhir_user: 'Practitioner/doc' },
  })
  app = await registerApp(server)
})
test.after(async () => server.stop())

/** As if all that was used had been used a second earlier. */
const earlier = sql(
  'test.earlier',
  'UPDATE oauth_token SET consumed_at = consumed_at - 1100 WHERE consumed_at IS NOT NULL',
)

const SCOPE = 'openid launch/patient patient/*.rs offline_access'
const DAY = 24 * 3_600_000

const read = async ({ access_token: token }: Tokens, url = '/Patient/p1') =>
  (await server.inject({ url, headers: bearing(token) })).statusCode
const again = async (tokens: Tokens, more = {}): Promise<Tokens> => {
  const answer = await refresh(server, app, tokens.refresh_token as string, more)
  assert.is(answer.statusCode, 200, answer.body)
  return answer.json() as Tokens
}
const errorOf = async (tokens: Tokens, more = {}, one = app) =>
  (await refresh(server, one, tokens.refresh_token as string, more)).json().error as string

test('a refresh token is there for offline and online access only', async () => {
  assert.is((await tokensOf(server, app, 'openid user/*.rs')).refresh_token, undefined)
  assert.type((await tokensOf(server, app, 'openid online_access')).refresh_token, 'string')
  assert.type((await tokensOf(server, app, 'openid offline_access')).refresh_token, 'string')
})

test('refreshing gives a new refresh token, and repeats scope and context', async () => {
  const first = await tokensOf(server, app, SCOPE)
  const second = await again(first)
  assert.is.not(second.refresh_token, first.refresh_token)
  assert.is.not(second.access_token, first.access_token)
  assert.is(second.scope, SCOPE)
  assert.is(second.expires_in, 3600)
  assert.is(second.patient, 'p1')
  assert.type(second.id_token, 'string')
  assert.is(await read(second), 200)
  assert.is(await read(first), 200, 'an access token lives to its end')
})

test('a refresh token that is used again ends the whole family', async () => {
  const first = await tokensOf(server, app, SCOPE)
  const second = await again(first)
  const third = await again(second)
  assert.is(await errorOf(first), 'invalid_grant')
  for (const tokens of [first, second, third]) assert.is(await read(tokens), 401)
  assert.is(await errorOf(third), 'invalid_grant')
})

test('of two refreshes at once one gets tokens, and the other ends nothing', async () => {
  const first = await tokensOf(server, app, SCOPE)
  const answers = await Promise.all([1, 2, 3, 4].map(() => refresh(server, app, first.refresh_token as string)))
  assert.equal(answers.map(({ statusCode }) => statusCode).sort(), [200, 400, 400, 400])
  const won = answers.find(({ statusCode }) => statusCode === 200)?.json() as Tokens
  assert.is(await read(won), 200)
  await again(won)
})

test('a refresh that comes while the answer to another is on its way ends nothing; one that comes behind it does', async () => {
  const first = await tokensOf(server, app, SCOPE)
  const stored = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  held = { arrived: stored.resolve, gate: gate.promise }
  const winner = refresh(server, app, first.refresh_token as string)
  await stored.promise
  assert.is(await errorOf(first), 'invalid_grant')
  gate.resolve()
  held = undefined
  const second = (await winner).json() as Tokens
  assert.is(await read(second), 200)
  assert.is(await errorOf(first), 'invalid_grant')
  assert.is(await read(second), 401)
})

test('a refresh that came through another server within a second of the use here ends nothing, and neither does one the other way round', async () => {
  for (const isFirst of [true, false]) {
    const first = await tokensOf(server, app, SCOPE)
    const relayed = (isRelayed: boolean) =>
      refresh(server, app, first.refresh_token as string, {}, isRelayed ? RELAYED : {})
    const used = await relayed(isFirst)
    assert.is(used.statusCode, 200, used.body)
    const second = used.json() as Tokens
    const late = await relayed(!isFirst)
    assert.is(late.statusCode, 400)
    assert.is(late.json().error, 'invalid_grant')
    assert.is(await read(second), 200)
    const database = server.get(Database)
    await database.transact((transaction) => transaction.run(earlier, []))
    assert.is((await relayed(!isFirst)).statusCode, 400)
    assert.is(await read(second), 401)
  }
})

test('another client can do nothing with it, and a confidential client authenticates', async () => {
  const first = await tokensOf(server, app, SCOPE)
  const other = await registerApp(server)
  assert.is(await errorOf(first, {}, other), 'invalid_grant')
  const confidential = await registerApp(server, { token_endpoint_auth_method: 'client_secret_basic' })
  const own = await tokensOf(server, confidential, SCOPE)
  const unproven = await refresh(server, { ...confidential, secret: undefined }, own.refresh_token as string)
  assert.is(unproven.statusCode, 401)
  assert.is(unproven.json().error, 'invalid_client')
  assert.is((await refresh(server, confidential, own.refresh_token as string)).statusCode, 200)
  await again(first)
})

test('scopes can be narrowed for one access token, never widened', async () => {
  const first = await tokensOf(server, app, SCOPE)
  for (const scope of ['patient/*.cruds', `${SCOPE} user/*.rs`, 'system/*.rs', 'nonsense', ' '])
    assert.is(await errorOf(first, { scope }), 'invalid_scope', scope)
  const narrow = await again(first, { scope: 'patient/Patient.r' })
  assert.is(narrow.scope, 'patient/Patient.r')
  assert.is(await read(narrow), 200)
  assert.is(await read(narrow, '/Observation/o1'), 403)
  const full = await again(narrow)
  assert.is(full.scope, SCOPE)
  assert.is(await read(full, '/Observation/o1'), 200)
})

test('it ends with its revocation, and takes its access tokens along', async () => {
  const first = await tokensOf(server, app, SCOPE)
  const revoke = (token: string, id = app.id) => postForm(server, '/oauth/revoke', { token, client_id: id })
  const other = await registerApp(server)
  const refused = await revoke(first.refresh_token as string, other.id)
  assert.is(refused.statusCode, 400)
  assert.is(await read(first), 200)
  assert.is((await revoke(first.refresh_token as string)).statusCode, 200)
  assert.is(await read(first), 401)
  assert.is(await errorOf(first), 'invalid_grant')
  assert.is((await revoke(first.refresh_token as string)).statusCode, 200, 'the same answer again')
  const second = await tokensOf(server, app, SCOPE)
  assert.is((await revoke(second.access_token)).statusCode, 200)
  assert.is(await read(second), 401)
  assert.is(await read(await again(second)), 200, 'revoking an access token ends it alone')
})

test('it ends with its person, with a month of silence, and after half a year', async () => {
  const first = await tokensOf(server, app, SCOPE)
  await removeRecord(server, 'Practitioner', 'doc')
  assert.is(await errorOf(first), 'invalid_grant')
  await store(server, [{ resourceType: 'Practitioner', id: 'doc', active: true }])
  let tokens = await again(first)
  await clock.leap(30 * DAY)
  assert.is(await errorOf(tokens), 'invalid_grant', 'after a month without a refresh')
  tokens = await tokensOf(server, app, SCOPE, {}, createTestBrowser(server))
  for (let month = 0; month < 6; month += 1) {
    await clock.leap(29 * DAY)
    tokens = await again(tokens)
  }
  await clock.leap(7 * DAY)
  assert.is(await errorOf(tokens), 'invalid_grant', 'half a year after the consent')
})

test('online access ends with the session', async () => {
  const tokens = await tokensOf(server, app, 'openid online_access')
  await clock.leap(11 * 3_600_000)
  const later = await again(tokens)
  await clock.leap(30 * 60_000)
  const last = await again(later)
  assert.is(last.expires_in, 1800, 'no token outlives the session')
  await clock.leap(30 * 60_000)
  assert.is(await errorOf(last), 'invalid_grant')
})

test('a refresh token is no access token, and tells a resource server nothing', async () => {
  const tokens = await tokensOf(server, app, SCOPE)
  const { refresh_token: token = '' } = tokens
  assert.is((await server.inject({ url: '/Patient/p1', headers: bearing(token) })).statusCode, 401)
  const about = await postForm(server, '/oauth/introspect', { token }, { authorization: BUILT_IN_BASIC })
  assert.equal(about.json(), { active: false })
  assert.is(await errorOf({ ...tokens, refresh_token: tokens.access_token }), 'invalid_grant')
})

test.run()
