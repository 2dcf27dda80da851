/** A refresh that names no client, as apps send it: SMART App Launch lists no client_id among its parameters. */
// database: sqlite, the look-up is the one of every refresh, which is tested on each database
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { loginClinic, registerApp, tokensOf } from '../../support/login-clinic.ts'
import type { TestServer } from '../../support/server-with.ts'
import { type Parameters, postForm } from '../../support/smart-server.ts'

const SCOPE = 'launch/patient patient/*.rs offline_access'

let server: TestServer
test.before(async () => {
  server = await loginClinic()
})
test.after(async () => server.stop())

const refresh = async (token: string, more: Parameters = {}, headers: Readonly<Record<string, string>> = {}) => {
  const form = { grant_type: 'refresh_token', refresh_token: token, ...more }
  const answer = await postForm(server, '/oauth/token', form, headers)
  return { status: answer.statusCode, json: answer.json() as Record<string, string> }
}

test('the refresh token of a public client says which client it is', async () => {
  const app = await registerApp(server)
  const { refresh_token: token = '' } = await tokensOf(server, app, SCOPE)
  const { status, json } = await refresh(token)
  assert.is(status, 200, JSON.stringify(json))
  assert.is(json.patient, 'p1')
  assert.is.not(json.refresh_token, token)
  const reused = await refresh(token)
  assert.equal([reused.status, reused.json.error], [400, 'invalid_grant'])
  assert.is((await refresh(json.refresh_token ?? '')).status, 400, 'the reuse has ended the family')
})

test('the refresh token of a confidential client is worth nothing without its proof', async () => {
  const app = await registerApp(server, { token_endpoint_auth_method: 'client_secret_basic' })
  const { refresh_token: token = '' } = await tokensOf(server, app, SCOPE)
  assert.equal([(await refresh(token)).status, (await refresh(token)).json.error], [401, 'invalid_client'])
})

test('a token that is unknown, or no refresh token, names nobody', async () => {
  const app = await registerApp(server)
  const { access_token: access } = await tokensOf(server, app, SCOPE)
  for (const token of ['unknown', access]) assert.is((await refresh(token)).json.error, 'invalid_client')
})

test('a request that names a client is not answered for another one', async () => {
  const [app, other] = [await registerApp(server), await registerApp(server)]
  const { refresh_token: token = '' } = await tokensOf(server, app, SCOPE)
  assert.is((await refresh(token, { client_id: other.id })).json.error, 'invalid_grant')
  assert.is((await refresh(token, {}, { authorization: 'Basic eDp5' })).json.error, 'invalid_client')
  assert.is((await refresh(token, { client_secret: 'x' })).json.error, 'invalid_client')
  assert.is((await refresh(token)).status, 200)
})

test.run()
