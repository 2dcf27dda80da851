/** What lets somebody in is neither in the database nor in the log; and servers that start together make one set of keys. */
// database: sqlite, whose file is searched, and postgres, on which several servers start at once
import { globSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import audit from '../../../plugins/audit/index.ts'
import requestLog from '../../../plugins/request-log/index.ts'
import smart from '../../../plugins/smart/index.ts'
import { postgresKind, sqliteKind } from '../../support/database-kinds.ts'
import {
  askFor,
  bearing,
  clinicPlugins,
  codeOf,
  exchange,
  goThrough,
  loginClinic,
  refresh,
  registerApp,
} from '../../support/login-clinic.ts'
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
  const server = await loginClinic({
    settings: { ...fresh.settings, request_log: { enabled: true, store: true } },
    plugins: [...clinicPlugins, audit, requestLog],
    smart: { fhir_user: 'Practitioner/doc' },
  })
  const name = 'Canary Name of the Person'
  const app = await registerApp(server)
  const secrets: string[] = [name]
  const step = async (browser: TestBrowser): Promise<void> => {
    const launch = (
      await postForm(server, '/oauth/launch', { patient: 'p1' }, { authorization: BUILT_IN_BASIC })
    ).json()
    const asked = askFor(app, 'launch openid fhirUser patient/*.rs offline_access', { launch: launch.launch })
    assert.is((await browser.open(asked.url.replace(/client_id=[^&]*/, 'client_id=unknown'))).status, 400)
    const page = await browser.open(asked.url)
    secrets.push(launch.launch, asked.verifier, page.url.split('/').at(-2) as string)
    for (const [, value] of browser.cookies) secrets.push(...value.split('.'))
    secrets.push(/name="csrf" value="([^"]+)"/.exec(page.body)?.[1] as string)
    const code = codeOf(await goThrough(browser, page.url, { name }))
    for (const [, value] of browser.cookies) secrets.push(...value.split('.'))
    const tokens = (await exchange(server, app, code, asked.verifier)).json()
    const again = (await refresh(server, app, tokens.refresh_token)).json()
    secrets.push(code, tokens.id_token.split('.')[2], again.id_token.split('.')[2])
    for (const one of [tokens, again]) secrets.push(one.access_token, one.refresh_token)
    await server.inject({ url: '/Patient/p1', headers: bearing(again.access_token) })
    await refresh(server, app, tokens.refresh_token)
    await exchange(server, app, code, asked.verifier)
    await server.inject(`/oauth/callback?state=${asked.state}&code=${code}`)
  }
  for (let n = 0; n < 20; n += 1) await step(createTestBrowser(server))
  const browser = createTestBrowser(server)
  await step(browser)
  await step(browser)
  const searched = (): string =>
    [...globSync(`${dirname(path)}/*`).map((file) => readFileSync(file, 'latin1')), JSON.stringify(server.lines)].join()
  const found = (): string[] => {
    const all = searched()
    return secrets.filter((secret) => secret !== '' && all.includes(secret))
  }
  assert.match(searched(), app.id, 'the files are those of this database')
  assert.is(secrets.length > 300, true)
  assert.equal(found(), [])
  await server.stop()
  assert.equal(found(), [])
  await fresh.remove()
})

test('servers that start at once on one database publish the same keys', async () => {
  const fresh = await postgresKind.fresh()
  const servers = await Promise.all([1, 2, 3].map(() => smartServer({ settings: fresh.settings })))
  const bodies = await Promise.all(servers.map(async (server) => (await server.inject('/oauth/jwks')).body))
  assert.is(new Set(bodies).size, 1, bodies.join('\n'))
  assert.is((JSON.parse(bodies[0] as string) as { keys: object[] }).keys.length, 2)
  for (const server of servers) await server.stop()
  await fresh.remove()
})

test.run()
