/** Backend services: a client proves itself with a signed assertion and gets a token of its own right. */
// memory: reads wait there while a transaction is open
import { randomUUID } from 'node:crypto'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { chosenKind, type DatabaseKind, databaseKinds } from '../../support/database-kinds.ts'
import { createManualClock } from '../../support/manual-clock.ts'
import type { TestServer } from '../../support/server-with.ts'
import { sharedByTests } from '../../support/shared-by-tests.ts'
import {
  askToken,
  assertionOf,
  BUILT_IN_BASIC,
  basicOf,
  freshForSmart,
  postForm,
  register,
  registerService,
  signingKey,
  smartServer,
  tokenOf,
} from '../../support/smart-server.ts'

const sharedOn = (kind: DatabaseKind) =>
  sharedByTests(
    async () => {
      const fresh = await freshForSmart(kind)
      return { fresh, server: await smartServer({ settings: fresh.settings }) }
    },
    async ({ server, fresh }) => {
      await server.stop()
      await fresh.remove()
    },
  )
const shared = new Map(databaseKinds().map((kind) => [kind.name, sharedOn(kind)]))
/** Tests that need no settings of their own share a server of each kind. */
const serverOn = async ({ name } = chosenKind): Promise<TestServer> => {
  const opened = await shared.get(name)?.()
  if (opened === undefined) throw new Error(`this file does not run on ${name}`)
  return opened.server
}

for (const kind of databaseKinds())
  test(`a service gets a token for five minutes and reads with it, on ${kind.name}`, async () => {
    const server = await serverOn(kind)
    for (const alg of ['RS384', 'ES384'] as const) {
      const service = await registerService(server, { key: await signingKey(alg), scope: 'system/Observation.rs' })
      const answer = await askToken(server, await assertionOf(service), { scope: 'system/Observation.rs' })
      assert.is(answer.statusCode, 200, answer.body)
      const { access_token: token, ...rest } = answer.json() as Record<string, unknown>
      assert.equal(rest, { token_type: 'Bearer', expires_in: 300, scope: 'system/Observation.rs' })
      assert.match(token as string, /^[\w-]{43}$/)
      assert.is(answer.headers['cache-control'], 'no-store')
      assert.is(answer.headers.pragma, 'no-cache')
      const headers = { authorization: `Bearer ${token}` }
      assert.is((await server.inject({ url: '/Observation', headers })).statusCode, 200)
      assert.is((await server.inject({ url: '/Patient', headers })).statusCode, 403)
    }
  })

for (const kind of databaseKinds())
  test(`of many uses of one assertion at once one is good, on ${kind.name}`, async () => {
    const server = await serverOn(kind)
    const service = await registerService(server)
    for (let round = 0; round < 5; round += 1) {
      const assertion = await assertionOf(service)
      const answers = await Promise.all(Array.from({ length: 20 }, () => askToken(server, assertion)))
      assert.is(answers.filter(({ statusCode }) => statusCode === 200).length, 1)
      for (const { statusCode, body } of answers.filter((one) => one.statusCode !== 200)) {
        assert.is(statusCode, 401)
        assert.is((JSON.parse(body) as { error: string }).error, 'invalid_client')
      }
    }
  })

for (const kind of databaseKinds().filter(({ name }) => name !== 'memory'))
  test(`an assertion that was used stays used after a restart and on another server, on ${kind.name}`, async () => {
    const fresh = await freshForSmart(kind)
    let server = await smartServer({ settings: fresh.settings, together: true })
    const service = await registerService(server)
    const assertion = await assertionOf(service)
    assert.is((await askToken(server, assertion)).statusCode, 200)
    if (kind.name === 'postgres') {
      const other = await smartServer({ settings: fresh.settings, together: true })
      assert.is((await askToken(other, assertion)).statusCode, 401)
      await other.stop()
    }
    await server.stop()
    server = await smartServer({ settings: fresh.settings })
    assert.is((await askToken(server, assertion)).statusCode, 401)
    await server.stop()
    await fresh.remove()
  })

test('the same jti of another client is another one', async () => {
  const server = await serverOn()
  const jti = randomUUID()
  for (const service of [await registerService(server), await registerService(server)])
    assert.is((await askToken(server, await assertionOf(service, { claims: { jti } }))).statusCode, 200)
})

test('scopes: missing, of users, beyond the registration', async () => {
  const server = await serverOn()
  const service = await registerService(server, { scope: 'system/Observation.rs system/Patient.r' })
  const ask = async (more: Record<string, string>) => {
    const answer = await askToken(server, await assertionOf(service), more)
    return [answer.statusCode, (answer.json() as { error?: string; scope?: string }).error ?? answer.json().scope]
  }
  assert.equal(await ask({}), [400, 'invalid_request'])
  assert.equal(await ask({ scope: '' }), [400, 'invalid_request'])
  for (const scope of ['patient/*.rs', 'user/Observation.rs', 'openid', 'system/Condition.rs', 'system/observation.rs'])
    assert.equal(await ask({ scope }), [400, 'invalid_scope'], scope)
  assert.equal(await ask({ scope: 'system/Observation.cruds' }), [200, 'system/Observation.rs'])
  assert.equal(await ask({ scope: 'system/Condition.rs system/Patient.r' }), [200, 'system/Patient.r'])
  assert.equal(await ask({ scope: 'system/Observation.read' }), [200, 'system/Observation.read'])
})

test('a service without a registered scope may have none', async () => {
  const server = await serverOn()
  const key = await signingKey()
  const answer = await register(server, {
    token_endpoint_auth_method: 'private_key_jwt',
    grant_types: ['client_credentials'],
    jwks: { keys: [key.jwk] },
  })
  const service = { id: answer.json().client_id as string, key }
  const asked = await askToken(server, await assertionOf(service), { scope: 'system/*.rs' })
  assert.is(asked.json().error, 'invalid_scope')
})

test('clients that are public or have a secret get no token of their own right', async () => {
  const server = await serverOn()
  const app = { redirect_uris: ['https://app.example.org/cb'], scope: 'system/*.rs' }
  const open = (await register(server, { ...app, token_endpoint_auth_method: 'none' })).json().client_id as string
  const secret = (await register(server, app)).json() as { client_id: string; client_secret: string }
  const asked = { grant_type: 'client_credentials', scope: 'system/*.rs' }
  const answers = [
    await postForm(server, '/oauth/token', { ...asked, client_id: open }),
    await postForm(server, '/oauth/token', asked, { authorization: basicOf(secret.client_id, secret.client_secret) }),
    await postForm(server, '/oauth/token', asked, { authorization: BUILT_IN_BASIC }),
  ]
  for (const { statusCode, body } of answers) {
    assert.is(statusCode, 400, body)
    assert.is((JSON.parse(body) as { error: string }).error, 'unauthorized_client')
  }
})

test('a token is good until it expires, and is told to have expired then', async () => {
  const clock = createManualClock()
  const server = await smartServer({ clock })
  const token = await tokenOf(server, await registerService(server), 'system/*.rs', clock.now())
  const read = () => server.inject({ url: '/Patient', headers: { authorization: `Bearer ${token}` } })
  await clock.advance(299_000)
  assert.is((await read()).statusCode, 200)
  await clock.advance(1_000)
  const answer = await read()
  assert.is(answer.statusCode, 401)
  assert.is(answer.headers['www-authenticate'], 'Bearer error="invalid_token"')
  assert.is(answer.json().issue[0].code, 'expired')
  await server.stop()
})

test.run()
