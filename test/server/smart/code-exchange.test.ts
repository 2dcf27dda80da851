/** A code is exchanged for tokens once, by its client, in its minute, with its verifier. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { Database } from '../../../plugins/database/service.ts'
import { disableClient } from '../../../plugins/smart/tables.ts'
import {
  type App,
  askFor,
  bearing,
  challengeOf,
  codeOf,
  exchange,
  goThrough,
  loginClinic,
  refresh,
  registerApp,
  removeRecord,
  returned,
  store,
} from '../../support/login-clinic.ts'
import { createManualClock, type ManualClock } from '../../support/manual-clock.ts'
import type { TestServer } from '../../support/server-with.ts'
import { BUILT_IN_BASIC, ISSUER, postForm } from '../../support/smart-server.ts'
import { createTestBrowser } from '../../support/test-browser.ts'

let server: TestServer
let app: App
let clock: ManualClock

test.before(async () => {
  clock = createManualClock()
  server = await loginClinic({ clock, smart: { fhir_user: 'Practitioner/doc' } })
  app = await registerApp(server)
})
test.after(async () => server.stop())

const SCOPE = 'openid launch/patient patient/*.rs offline_access'

const newCode = async (one: App = app, more: Record<string, string> = {}) => {
  const asked = askFor(one, SCOPE, more)
  return { code: codeOf(await goThrough(createTestBrowser(server), asked.url)), verifier: asked.verifier }
}
const newTokens = async (one: App): Promise<unknown> => {
  const { code, verifier } = await newCode(one)
  return (await exchange(server, one, code, verifier)).json()
}
const errorOf = ({ json, statusCode }: { json(): any; statusCode: number }): string => {
  const body = json()
  assert.equal(Object.keys(body), ['error', 'error_description'])
  assert.match(body.error_description, /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
  assert.is(statusCode, body.error === 'invalid_client' ? 401 : 400)
  return body.error as string
}
const read = async (token: string) => (await server.inject({ url: '/Patient/p1', headers: bearing(token) })).statusCode
const isActive = async (token: string) =>
  (await postForm(server, '/oauth/introspect', { token }, { authorization: BUILT_IN_BASIC })).json().active as boolean

test('the answer is not cached, and has all that SMART asks for', async () => {
  const { code, verifier } = await newCode()
  const answer = await exchange(server, app, code, verifier)
  assert.is(answer.statusCode, 200)
  assert.is(answer.headers['cache-control'], 'no-store')
  assert.is(answer.headers.pragma, 'no-cache')
  const body = answer.json()
  assert.equal(Object.keys(body), [
    ...['access_token', 'token_type', 'expires_in', 'scope', 'refresh_token', 'id_token', 'patient'],
  ])
  assert.is(Number.isInteger(body.expires_in) && body.expires_in <= 3600, true)
})

test('a code that is used again ends what it gave', async () => {
  const { code, verifier } = await newCode()
  const tokens = (await exchange(server, app, code, verifier)).json()
  assert.is(await read(tokens.access_token), 200)
  assert.is(errorOf(await exchange(server, app, code, verifier)), 'invalid_grant')
  assert.is(await read(tokens.access_token), 401)
  assert.is(await isActive(tokens.access_token), false)
  assert.is(errorOf(await refresh(server, app, tokens.refresh_token)), 'invalid_grant')
})

test('a code is good for a minute', async () => {
  const early = await newCode()
  await clock.leap(59_000)
  assert.is((await exchange(server, app, early.code, early.verifier)).statusCode, 200)
  const late = await newCode()
  await clock.leap(61_000)
  assert.is(errorOf(await exchange(server, app, late.code, late.verifier)), 'invalid_grant')
})

test('a code is of one client and one redirect URI; attempts of others leave it as it is', async () => {
  const other = await registerApp(server)
  const { code, verifier } = await newCode()
  assert.is(errorOf(await exchange(server, other, code, verifier)), 'invalid_grant')
  const foreign = await exchange(server, other, code, verifier)
  const unknown = await exchange(server, other, 'A'.repeat(43), verifier)
  assert.is(foreign.body, unknown.body, 'no word about which codes exist')
  const uri = { redirect_uri: 'https://app.example.org/other' }
  assert.is(errorOf(await exchange(server, app, code, verifier, uri)), 'invalid_grant')
  assert.is(errorOf(await exchange(server, app, code, verifier, { redirect_uri: '' })), 'invalid_request')
  assert.is((await exchange(server, app, code, verifier)).statusCode, 200)
})

test('the verifier is the one of the challenge', async () => {
  const known = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
  const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
  assert.is(challengeOf(known), challenge)
  const { code } = await newCode(app, { code_challenge: challenge })
  for (const wrong of [
    '',
    'x'.repeat(42),
    'x'.repeat(43),
    'x'.repeat(129),
    `${known}+`,
    challenge,
    `${known.slice(1)}é`,
  ])
    assert.is(errorOf(await exchange(server, app, code, wrong)), 'invalid_grant', wrong)
  assert.is((await exchange(server, app, code, known)).statusCode, 200)
})

test('a code or token in the URL is refused, and is in no log line', async () => {
  const { code, verifier } = await newCode()
  const url = `/oauth/token?code=${code}`
  const form = { grant_type: 'authorization_code', code, redirect_uri: app.redirectUri, code_verifier: verifier }
  assert.is(errorOf(await postForm(server, url, { ...form, client_id: app.id })), 'invalid_request')
  assert.not.match(JSON.stringify(server.lines), code)
})

test('a client uses the grants it has registered, and authenticates as it has registered', async () => {
  const plain = await registerApp(server, { grant_types: ['authorization_code'] })
  const asked = askFor(plain, 'openid offline_access')
  const code = codeOf(await goThrough(createTestBrowser(server), asked.url))
  const tokens = (await exchange(server, plain, code, asked.verifier)).json()
  assert.is(tokens.scope, 'openid')
  assert.is(tokens.refresh_token, undefined)
  assert.is(errorOf(await refresh(server, plain, 'A'.repeat(43))), 'unauthorized_client')
  const confidential = await registerApp(server, { token_endpoint_auth_method: 'client_secret_basic' })
  const own = await newCode(confidential)
  const asPublic = { ...confidential, secret: undefined }
  assert.is(errorOf(await exchange(server, asPublic, own.code, own.verifier)), 'invalid_client')
  assert.is((await exchange(server, confidential, own.code, own.verifier)).statusCode, 200)
})

test('a person who was removed meanwhile gets no tokens', async () => {
  const { code, verifier } = await newCode()
  await removeRecord(server, 'Practitioner', 'doc')
  assert.is(errorOf(await exchange(server, app, code, verifier)), 'invalid_grant')
  await store(server, [{ resourceType: 'Practitioner', id: 'doc', active: false }])
  assert.is(errorOf(await exchange(server, app, code, verifier)), 'invalid_grant')
  await store(server, [{ resourceType: 'Practitioner', id: 'doc', active: true }])
  assert.is((await exchange(server, app, code, verifier)).statusCode, 200)
})

test('tokens end with their time', async () => {
  const { code, verifier } = await newCode()
  const tokens = (await exchange(server, app, code, verifier)).json()
  assert.is(await read(tokens.access_token), 200)
  await clock.leap(3_600_000)
  assert.is(await read(tokens.access_token), 401)
  assert.is(await isActive(tokens.access_token), false)
})

test('the redirect to the app has code, state and issuer, and nothing else; no cache or other site learns of it', async () => {
  const asked = askFor(app, SCOPE)
  const page = await goThrough(createTestBrowser(server), asked.url)
  const parameters = returned(page)
  assert.equal([...parameters.keys()].sort(), ['code', 'iss', 'state'])
  assert.is(parameters.get('state'), asked.state)
  assert.is(parameters.get('iss'), ISSUER)
  assert.is(page.status, 303)
  assert.is(page.headers['cache-control'], 'no-store')
  assert.is(page.headers['referrer-policy'], 'no-referrer')
})

test('a code that is unknown and one of another client have the same answer', async () => {
  const other = await registerApp(server)
  const { code, verifier } = await newCode(other)
  const foreign = await exchange(server, app, code, verifier)
  const unknown = await exchange(server, app, `${code.slice(0, -3)}AAA`, verifier)
  assert.is(foreign.statusCode, 400)
  assert.is(unknown.statusCode, 400)
  assert.is(foreign.body, unknown.body)
  assert.not.match(foreign.body, code)
})

test('a client that is disabled meanwhile gets nothing for its code or its refresh token', async () => {
  const one = await registerApp(server)
  const earlier = (await newTokens(one)) as { refresh_token: string; access_token: string }
  const { code, verifier } = await newCode(one)
  await server.get(Database).transact((transaction) => transaction.run(disableClient, [clock.now(), one.id]))
  assert.is(errorOf(await exchange(server, one, code, verifier)), 'invalid_client')
  assert.is(errorOf(await refresh(server, one, earlier.refresh_token)), 'invalid_grant')
  await clock.advance(1_000)
  assert.is(await read(earlier.access_token), 401)
  assert.is(await isActive(earlier.access_token), false)
})

test('a disabled client with a secret gets invalid_grant for its refresh token, and invalid_client with another secret', async () => {
  const one = await registerApp(server, { token_endpoint_auth_method: 'client_secret_basic' })
  const { refresh_token: token } = (await newTokens(one)) as { refresh_token: string }
  await server.get(Database).transact((transaction) => transaction.run(disableClient, [clock.now(), one.id]))
  assert.is(errorOf(await refresh(server, { ...one, secret: 'another' }, token)), 'invalid_client')
  assert.is(errorOf(await refresh(server, { ...one, secret: undefined }, token)), 'invalid_client')
  const refused = await refresh(server, one, token)
  assert.is(refused.statusCode, 400)
  assert.is(errorOf(refused), 'invalid_grant')
})

test.run()
