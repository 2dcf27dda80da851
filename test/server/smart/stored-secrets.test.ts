/** What lets somebody in is neither in the database nor in the log; and servers that start together make one set of keys. */
// database: sqlite, whose file is searched, and postgres, on which several servers start at once
import { globSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import audit from '../../../plugins/audit/index.ts'
import smart from '../../../plugins/smart/index.ts'
import { postgresKind, sqliteKind } from '../../support/database-kinds.ts'
import { findSecrets } from '../../support/find-secrets.ts'
import { registerApp } from '../../support/login-clinic.ts'
import { COMMON_SECRETS, logInWithSecrets, talkativeClinic } from '../../support/login-secrets.ts'
import { basic } from '../../support/server-with.ts'
import {
  askToken,
  assertionOf,
  BUILT_IN_BASIC,
  CONFIDENTIAL_SECRET,
  DCR_TOKEN,
  postForm,
  register,
  registerService,
  smartServer,
} from '../../support/smart-server.ts'
import { createTestBrowser, type TestBrowser } from '../../support/test-browser.ts'

test('tokens, secrets and assertions are in no file of the database and in no line of the log', async () => {
  const fresh = await sqliteKind.fresh()
  const { sqlite_path: path } = fresh.settings.database as { sqlite_path: string }
  const server = await smartServer({ settings: fresh.settings, plugins: [...basic, smart, audit] })
  const secrets = [DCR_TOKEN, CONFIDENTIAL_SECRET]
  const app = await register(server, { redirect_uris: ['https://app.example.org/cb'] })
  secrets.push((app.json() as { client_secret: string }).client_secret)
  const service = await registerService(server)
  for (let n = 0; n < 50; n += 1) {
    const assertion = await assertionOf(service)
    const { access_token: token } = (await askToken(server, assertion)).json() as { access_token: string }
    secrets.push(assertion, token)
    await server.inject({ url: '/Patient', headers: { authorization: `Bearer ${token}` } })
    await server.inject({ url: `/Patient?access_token=${token}` })
    await postForm(server, '/oauth/introspect', { token }, { authorization: BUILT_IN_BASIC })
  }
  const searched = (): string =>
    [...globSync(`${dirname(path)}/*`).map((file) => readFileSync(file, 'latin1')), JSON.stringify(server.lines)].join()
  const found = (): string[] => {
    const all = searched()
    return secrets.filter((secret) => all.includes(secret))
  }
  assert.match(searched(), service.id, 'the files are those of this database')
  assert.equal(found(), [])
  await server.stop()
  assert.equal(found(), [])
  await fresh.remove()
})

test('what a login leaves gives nobody access: no code, token, cookie or verifier is stored or logged, and no name', async () => {
  const fresh = await sqliteKind.fresh()
  const { sqlite_path: path } = fresh.settings.database as { sqlite_path: string }
  const server = await talkativeClinic(fresh.settings)
  const app = await registerApp(server)
  const secrets = [...COMMON_SECRETS]
  const login = async (browser: TestBrowser): Promise<void> =>
    void secrets.push(...(await logInWithSecrets(server, app, browser)))
  for (let n = 0; n < 20; n += 1) await login(createTestBrowser(server))
  const browser = createTestBrowser(server)
  await login(browser)
  await login(browser)
  const searched = (): string =>
    [...globSync(`${dirname(path)}/*`).map((file) => readFileSync(file, 'latin1')), JSON.stringify(server.lines)].join()
  assert.equal(findSecrets(searched(), [app.id]), [app.id], 'the files are those of this database')
  assert.is(secrets.length > 300, true)
  assert.equal(findSecrets(searched(), secrets), [])
  await server.stop()
  assert.equal(findSecrets(searched(), secrets), [])
  await fresh.remove()
})

test('a secret is found as text, as bytes and in hexadecimal', () => {
  const secret = 'Zm9vYmFyMDEyMzQ1Njc4OQ-_aaaaaaaaaaaaaaaaaaa'
  const bytes = Buffer.from(secret, 'base64url')
  for (const form of [secret, bytes.toString('latin1'), bytes.toString('hex'), Buffer.from(secret).toString('hex')])
    assert.equal(findSecrets(`before ${form} behind`, ['another-secret-of-this-server', secret]), [secret])
  assert.equal(findSecrets(`before ${secret.slice(0, -1)}b behind`, [secret]), [])
})

test('servers that start at once on one database publish the same keys', async () => {
  const fresh = await postgresKind.fresh()
  const servers = await Promise.all(
    [1, 2, 3].map(() => smartServer({ settings: fresh.settings, together: true, makesKeys: true })),
  )
  const bodies = await Promise.all(servers.map(async (server) => (await server.inject('/oauth/jwks')).body))
  assert.is(new Set(bodies).size, 1, bodies.join('\n'))
  assert.is((JSON.parse(bodies[0] as string) as { keys: object[] }).keys.length, 2)
  for (const server of servers) await server.stop()
  await fresh.remove()
})

test.run()
