/** Which answers and ID tokens of a provider are accepted: OpenID Connect Core 1.0, section 3.1.3.7; RFC 9207. */
// database: memory, nothing is stored here
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { CLIENT_ID, type FakeProvider, type Switches, startFakeProvider } from '../../support/fake-provider.ts'
import { CALLBACK, type LoginServer, loginServer, outcomeOf } from '../../support/provider-login.ts'

let provider: FakeProvider
let all: LoginServer

test.before(async () => {
  provider = await startFakeProvider()
  all = await loginServer(provider)
})
test.before.each(() => provider.behave())
test.after(async () => {
  await all.server.stop()
  await provider.stop()
})

const seconds = (): number => Math.floor(Date.now() / 1000)
const askedFor = (path: string) => provider.asked.filter((one) => one.path === path)

/** Each is refused, and the reason is in the log. */
const refused = async (cases: Readonly<Record<string, Switches>>): Promise<void> => {
  for (const [about, switches] of Object.entries(cases)) {
    provider.behave(switches)
    const before = all.server.lines.length
    assert.is(await outcomeOf(all.go()), 'login-refused', about)
    const lines = all.server.lines.slice(before).filter(({ reason }) => reason !== undefined)
    assert.is(lines.length, 1, about)
  }
}

test('a login with everything right gives the person', async () => {
  const before = seconds()
  const { authTime, ...person } = await all.go()
  assert.equal(person, { issuer: provider.issuer, subject: 'u1', name: 'Ann Example' })
  assert.ok(authTime >= before && authTime <= seconds())
})

test('a key that was rotated between two logins is found', async () => {
  assert.is(await outcomeOf(all.go()), 'in')
  await provider.rotate()
  assert.is(await outcomeOf(all.go()), 'in')
})

test('a key needs no kid where it is the only one', async () => {
  provider.behave({ sign: 'no-kid' })
  assert.is(await outcomeOf(all.go()), 'in')
})

test('an ID token of another issuer, without a subject or out of its time is refused', () =>
  refused({
    'iss wrong': { claims: { iss: 'https://other.example.org' } },
    'iss with a slash more': { claims: { iss: `${provider.issuer}/` } },
    'iss missing': { claims: { iss: undefined } },
    'sub missing': { claims: { sub: undefined } },
    'sub empty': { claims: { sub: '' } },
    'sub no string': { claims: { sub: 7 } },
    'sub too long': { claims: { sub: 'x'.repeat(256) } },
    'iat missing': { claims: { iat: undefined } },
    'iat an hour ahead': { claims: { iat: seconds() + 3600, exp: seconds() + 7200 } },
    'exp past': { claims: { exp: seconds() - 60 } },
    'exp missing': { claims: { exp: undefined } },
    'exp a string': { claims: { exp: '99999999999' } },
    'nbf ahead': { claims: { nbf: seconds() + 3600 } },
    'auth_time ahead': { claims: { auth_time: seconds() + 3600 } },
  }))

test('an ID token for somebody else is refused', () =>
  refused({
    'aud other': { claims: { aud: 'other' } },
    'aud missing': { claims: { aud: undefined } },
    'aud without us': { claims: { aud: ['a', 'b'] } },
    'aud with another, azp absent': { claims: { aud: [CLIENT_ID, 'b'] } },
    'aud with another, azp other': { claims: { aud: [CLIENT_ID, 'b'], azp: 'b' } },
    'azp other': { claims: { azp: 'b' } },
  }))

test('an ID token for us among others is accepted where azp names us', async () => {
  provider.behave({ claims: { aud: [CLIENT_ID, 'b'], azp: CLIENT_ID } })
  assert.is(await outcomeOf(all.go()), 'in')
})

test('an ID token without the nonce of this login is refused', async () => {
  await all.go()
  const nonce = askedFor('/authorize')[0]?.params.get('nonce')
  await refused({
    missing: { claims: { nonce: undefined } },
    wrong: { claims: { nonce: 'x' } },
    'of an earlier login': { claims: { nonce } },
  })
})

test('an ID token is refused whose signature is missing, made with the secret, or of a key that is not shown', () =>
  refused({
    'alg none': { sign: 'none' },
    'HS256 with the client secret': { sign: 'shared-secret' },
    'unknown key': { sign: 'unknown-key' },
    'no kid and several keys': { sign: 'no-kid', keys: 3 },
  }))

test('a callback without the state of this login is refused before the code is sent', async () => {
  const cases: Readonly<Record<string, (params: URLSearchParams) => void>> = {
    missing: (params) => params.delete('state'),
    wrong: (params) => params.set('state', 'r1.wrong'),
    twice: (params) => params.append('state', params.get('state') as string),
  }
  for (const [about, callback] of Object.entries(cases)) {
    await refused({ [about]: { callback } })
    assert.is(askedFor('/token').length, 0, about)
  }
})

test('the state of another login is refused', async () => {
  const one = await all.login.start({ callback: CALLBACK, forceLogin: false, request: 'r1' })
  const other = await all.login.start({ callback: CALLBACK, forceLogin: false, request: 'r1' })
  const url = await provider.visit(one.redirect)
  assert.is(await outcomeOf(all.login.finish({ url, callback: CALLBACK, memory: other.memory })), 'login-refused')
  assert.is(askedFor('/token').length, 0)
})

test('a callback of another issuer, or without the announced one, is refused before the code is sent', async () => {
  const { issuer } = provider
  const callbacks: Readonly<Record<string, (params: URLSearchParams) => void>> = {
    wrong: (params) => params.set('iss', 'https://other.example.org'),
    missing: (params) => params.delete('iss'),
    empty: (params) => params.set('iss', ''),
    twice: (params) => {
      params.append('iss', issuer)
      params.append('iss', issuer)
    },
  }
  // The server asks for the metadata beside its start, so that the first login may wait for them.
  const metadata = { authorization_response_iss_parameter_supported: true }
  provider.behave({ metadata })
  const announced = await loginServer(provider)
  for (const [about, callback] of Object.entries(callbacks)) {
    provider.behave({ metadata, callback })
    assert.is(await outcomeOf(announced.go()), 'login-refused', about)
    assert.is(askedFor('/token').length, 0, about)
  }
  provider.behave({ metadata, callback: (params) => params.set('iss', issuer) })
  assert.is(await outcomeOf(announced.go()), 'in')
  await announced.server.stop()
  await refused({ 'wrong, though not announced': { callback: (params) => params.set('iss', 'https://other.test') } })
})

test('a person who cancels at the provider is refused', () => refused({ cancelled: { error: 'access_denied' } }))

test('PKCE with S256, a nonce and a state are sent, and the redirect URI is the one given', async () => {
  await all.go()
  const params = askedFor('/authorize')[0]?.params
  assert.is(params?.get('code_challenge_method'), 'S256')
  for (const name of ['code_challenge', 'nonce']) assert.match(params?.get(name) ?? '', /^[\w-]{43}$/)
  assert.match(params?.get('state') ?? '', /^r1\.[\w-]{43}$/)
  assert.is(params?.get('redirect_uri'), CALLBACK)
  assert.is(params?.get('scope'), 'openid profile')
  assert.not.ok(params?.has('prompt'))
  assert.match(askedFor('/token')[0]?.params.get('code_verifier') ?? '', /^[\w-]{43}$/)
})

test('new credentials are asked for, and a login without them is refused', async () => {
  assert.is(await outcomeOf(all.go({ forceLogin: true })), 'in')
  const params = askedFor('/authorize')[0]?.params
  assert.equal([params?.get('prompt'), params?.get('max_age')], ['login', '0'])
  for (const auth_time of [undefined, seconds() - 600]) {
    provider.behave({ claims: { auth_time } })
    assert.is(await outcomeOf(all.go({ forceLogin: true })), 'login-refused')
    assert.is(await outcomeOf(all.go()), 'in')
  }
})

test.run()
