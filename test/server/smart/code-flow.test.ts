/** A person logs in for an app: the whole way, from the authorization request to a read with the token. */
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  type App,
  askFor,
  bearing,
  codeOf,
  exchange,
  goThrough,
  loginClinic,
  refresh,
  registerApp,
  returned,
  tokensOf,
} from '../../support/login-clinic.ts'
import type { TestServer } from '../../support/server-with.ts'
import { ISSUER } from '../../support/smart-server.ts'
import { createTestBrowser } from '../../support/test-browser.ts'

let server: TestServer
let app: App

test.before(async () => {
  server = await loginClinic()
  app = await registerApp(server)
})
test.after(async () => server.stop())

test('a person logs in, chooses a patient and consents; the app gets tokens and reads the patient', async () => {
  const browser = createTestBrowser(server)
  const asked = askFor(app, 'openid fhirUser launch/patient patient/*.rs offline_access', { nonce: 'n-1' })
  const page = await goThrough(browser, asked.url)
  assert.is(page.status, 303)
  const back = returned(page)
  assert.equal([...back.keys()], ['code', 'state', 'iss'])
  assert.is(back.get('state'), asked.state)
  assert.is(back.get('iss'), ISSUER)
  const answer = await exchange(server, app, codeOf(page), asked.verifier)
  assert.is(answer.statusCode, 200, answer.body)
  const tokens = answer.json()
  assert.is(tokens.token_type, 'Bearer')
  assert.is(tokens.expires_in, 3600)
  assert.is(tokens.patient, 'p1')
  assert.is(tokens.scope, 'openid fhirUser launch/patient patient/*.rs offline_access')
  const read = await server.inject({ url: '/Patient/p1', headers: bearing(tokens.access_token) })
  assert.is(read.statusCode, 200, read.body)
  assert.is((await server.inject({ url: '/Patient/p2', headers: bearing(tokens.access_token) })).statusCode, 404)
  const again = await refresh(server, app, tokens.refresh_token)
  assert.is(again.statusCode, 200, again.body)
  assert.is(again.json().patient, 'p1')
})

const verified = async (token: string) =>
  jwtVerify(token, createLocalJWKSet((await server.inject('/oauth/jwks')).json() as JSONWebKeySet), {
    ...{ issuer: ISSUER, audience: app.id, algorithms: ['RS256'] },
  })

test('an ID token says who has logged in, and is signed with a published key', async () => {
  const tokens = await tokensOf(server, app, 'openid fhirUser', { nonce: 'n-2', max_age: '600' })
  const { payload, protectedHeader } = await verified(tokens.id_token as string)
  assert.is(protectedHeader.alg, 'RS256')
  assert.is(payload.nonce, 'n-2')
  assert.match(payload.sub as string, /^[\x21-\x7e]{1,255}$/)
  assert.type(payload.auth_time, 'number')
  assert.is((payload.exp as number) > (payload.iat as number), true)
  const plain = await verified((await tokensOf(server, app, 'openid')).id_token as string)
  assert.is(plain.payload.fhirUser, undefined)
  assert.is(plain.payload.auth_time, undefined)
  assert.is(plain.payload.sub, payload.sub, 'the same person')
  assert.is((await tokensOf(server, app, 'fhirUser user/*.rs')).id_token, undefined)
})

test.run()
