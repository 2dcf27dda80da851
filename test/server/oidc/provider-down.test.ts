/** A provider that does not answer, or not as it should: nobody logs in there, and everything else goes on. */
// database: memory, nothing is stored here
import type { ServerResponse } from 'node:http'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type FakeProvider, type Switches, startFakeProvider } from '../../support/fake-provider.ts'
import { createManualClock } from '../../support/manual-clock.ts'
import { CALLBACK, type LoginServer, loginServer, outcomeOf } from '../../support/provider-login.ts'
import { until } from '../../support/until.ts'

const DISCOVERY = '/.well-known/openid-configuration'
const clock = createManualClock()
const FRESH_MS = 3_600_000 // how long metadata is kept
let provider: FakeProvider
let all: LoginServer

test.before(async () => {
  provider = await startFakeProvider(clock.now)
  all = await loginServer(provider, {}, clock)
})
test.before.each(() => provider.behave())
test.after(async () => {
  await all.server.stop()
  await provider.stop()
})

const big = (_request: unknown, response: ServerResponse): void => {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(`{"keys":[],"x":"${'x'.repeat(10_000_000)}"}`)
}
const redirect = (_request: unknown, response: ServerResponse): void => {
  response.writeHead(302, { location: `${provider.issuer}/elsewhere` }).end()
}
const failing = (_request: unknown, response: ServerResponse): void => void response.writeHead(500).end('{}')
const page = (_request: unknown, response: ServerResponse): void =>
  void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')

/** What a login comes to that has to ask the provider for everything anew. */
const outcomeWith = async (switches: Switches): Promise<string> => {
  await clock.leap(FRESH_MS)
  provider.behave(switches)
  const outcome = await outcomeOf(all.go())
  assert.is((await all.server.inject('/metadata')).statusCode, 200)
  return outcome
}
const DOWN = 'provider-unavailable'

test('metadata that is not the one of the issuer, or leads to http, is not used', async () => {
  const { issuer } = provider
  const cases: Readonly<Record<string, Record<string, unknown>>> = {
    'issuer of another': { issuer: 'https://other.example.org' },
    'issuer in another spelling': { issuer: `${issuer}/` },
    'issuer missing': { issuer: undefined },
    'authorization over http': { authorization_endpoint: 'http://other.example.org/authorize' },
    'token over http': { token_endpoint: 'http://other.example.org/token' },
    'keys over http': { jwks_uri: 'http://other.example.org/jwks' },
    'claims over http': { userinfo_endpoint: 'http://other.example.org/userinfo' },
    'no authorization': { authorization_endpoint: undefined },
    'no keys': { jwks_uri: undefined },
    'a script': { authorization_endpoint: 'javascript:alert(1)' },
  }
  for (const [about, metadata] of Object.entries(cases)) {
    assert.is(await outcomeWith({ metadata }), DOWN, about)
    assert.equal(
      provider.asked.filter(({ path }) => path !== DISCOVERY),
      [],
      about,
    )
  }
})

test('an answer that is too large, a redirect, an error or a page is none', async () => {
  for (const path of [DISCOVERY, '/token', '/jwks'])
    for (const handler of [big, redirect, failing, page]) {
      assert.is(await outcomeWith({ answers: { [path]: handler } }), DOWN, `${path} ${handler.name}`)
      assert.not.ok(
        provider.asked.some((one) => one.path === '/elsewhere'),
        'a redirect was followed',
      )
    }
})

test('the server starts while the provider is down, and people can log in once it answers', async () => {
  provider.behave({ answers: { [DISCOVERY]: failing } })
  const { server, go } = await loginServer(provider, {}, clock)
  await until(
    () => server.lines.some(({ msg }) => /cannot be used yet/.test(String(msg))),
    10_000,
    'the check at the start',
  )
  assert.is((await server.inject('/readyz')).statusCode, 200)
  assert.is(await outcomeOf(go()), DOWN)
  provider.behave()
  assert.is(await outcomeOf(go()), 'in')
  await server.stop()
})

test('metadata is fetched once by many, and again after an hour', async () => {
  const { server, login } = await loginServer(provider, {}, clock)
  const start = () => login.start({ callback: CALLBACK, forceLogin: false, request: 'r' })
  await Promise.all([start(), start(), start()])
  await start()
  const times = () => provider.asked.filter(({ path }) => path === DISCOVERY).length
  assert.is(times(), 1)
  await clock.leap(FRESH_MS)
  await start()
  assert.is(times(), 2)
  await server.stop()
})

test('a provider that is slow at any step is given up within five seconds in all, and others are served meanwhile', async () => {
  for (const path of [DISCOVERY, '/token', '/jwks']) {
    const { promise: arrived, resolve } = Promise.withResolvers<void>()
    provider.behave({ answers: { [path]: () => resolve() } })
    const { server, go } = await loginServer(provider, {}, clock)
    const outcome = outcomeOf(go())
    await arrived
    assert.is((await server.inject('/metadata')).statusCode, 200)
    await clock.advance(5_000)
    assert.is(await outcome, DOWN, path)
    await server.stop()
  }
})

test('a body that trickles is given up as well', async () => {
  const { promise: arrived, resolve } = Promise.withResolvers<void>()
  const trickle = (_request: unknown, response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.write('{', () => resolve())
  }
  provider.behave({ answers: { '/jwks': trickle } })
  const { server, go } = await loginServer(provider, {}, clock)
  const outcome = outcomeOf(go())
  await arrived
  await clock.advance(5_000)
  assert.is(await outcome, DOWN)
  await server.stop()
})

test('errors that are about this server or the provider are told apart from those about the person', async () => {
  const answer = (status: number, error: string) => ({
    answers: {
      '/token': (_request: unknown, response: ServerResponse): void =>
        void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error })),
    },
  })
  assert.is(await outcomeWith(answer(401, 'invalid_client')), DOWN)
  assert.is(await outcomeWith(answer(400, 'unauthorized_client')), DOWN)
  assert.is(await outcomeWith(answer(400, 'invalid_grant')), 'login-refused')
  assert.is(await outcomeWith({ error: 'temporarily_unavailable' }), DOWN)
  assert.is(await outcomeWith({ error: 'login_required' }), 'login-refused')
})

test('nothing of an answer is in the log but fixed words', async () => {
  const canary = 'canary-7f3a'
  const { server, go } = await loginServer(provider, {}, clock)
  const all: readonly Switches[] = [
    {},
    { claims: { nonce: canary } },
    { claims: { sub: '', name: canary } },
    { sign: 'unknown-key', claims: { name: canary } },
    { error: `access_denied ${canary}` },
    { callback: (params) => params.set('code', canary) },
    { callback: (params) => params.set('error_description', canary) },
    {
      answers: {
        '/token': (_request, response) =>
          void response.writeHead(200, { 'content-type': 'application/json' }).end(`{"${canary}`),
      },
    },
  ]
  for (const switches of all) {
    provider.behave(switches)
    await outcomeOf(go())
    const { params } = provider.asked.find(({ path }) => path === '/authorize') as { params: URLSearchParams }
    for (const secret of [canary, params.get('state'), params.get('nonce')])
      assert.not.match(JSON.stringify(server.lines), secret as string)
  }
  await server.stop()
})

test.run()
