/** Tokens that a server knows: they are not read again without a reason, and every reason counts within a second. */
// npm test: sqlite and postgres, each with triggers of its own
// database: sqlite and postgres, each with triggers of its own
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { Database, sql } from '../../../plugins/database/service.ts'
import { hashOf, newSecret } from '../../../plugins/smart/secret.ts'
import { ACCESS, insertToken } from '../../../plugins/smart/tables.ts'
import {
  type App,
  bearing,
  clinicPlugins,
  loginClinic,
  registerApp,
  removeRecord,
  store,
  type Tokens,
  tokensOf,
} from '../../support/login-clinic.ts'
import { createManualClock, type ManualClock } from '../../support/manual-clock.ts'
import type { TestServer } from '../../support/server-with.ts'
import { createTestBrowser } from '../../support/test-browser.ts'
import { until } from '../../support/until.ts'
import { type DatabaseWatch, watchedDatabase } from '../../support/watched-database.ts'

const MANY = 300
const HOUR = 3_600_000
const DOC = { resourceType: 'Practitioner', id: 'doc', active: true }

interface Clinic {
  readonly server: TestServer
  readonly clock: ManualClock
  readonly watch: DatabaseWatch
  readonly app: App
}

const status = async (server: TestServer, token: string): Promise<number> =>
  (await server.inject({ url: '/Patient/p1', headers: bearing(token) })).statusCode

const run = async (server: TestServer, text: string, params: readonly (string | number | Buffer)[]): Promise<void> => {
  const statement = sql(`test.${text}`, text)
  await server.get(Database).transact((transaction) => transaction.run(statement, params))
}

/** Access tokens of the built-in client, which need no login. */
const addTokens = async (server: TestServer, count: number, now: number): Promise<readonly string[]> => {
  const tokens = Array.from({ length: count }, newSecret)
  await server.get(Database).transact(async (transaction) => {
    for (const token of tokens)
      await transaction.run(insertToken, [hashOf(token), ACCESS, null, 'confidential', 'system/*.rs', now, now + HOUR])
  })
  return tokens
}

let clinic: Clinic

test.before(async () => {
  const { plugin, watch } = watchedDatabase()
  const clock = createManualClock()
  const server = await loginClinic({
    ...{ clock, plugins: [plugin, ...clinicPlugins.filter(({ name }) => name !== 'database')] },
    settings: { rate_limit: { requests_per_second: 1e6, burst: 1e6, anonymous_burst: 1e6 } },
    smart: { fhir_user: 'Practitioner/doc' },
  })
  clinic = { server, clock, watch, app: await registerApp(server) }
})
test.after(async () => clinic.server.stop())

const on = (sentence: string, work: (clinic: Clinic) => Promise<void>): void =>
  void test(sentence, async () => work(clinic))

on('tokens that are used again after a while are not read again', async ({ server, clock, watch }) => {
  const tokens = await addTokens(server, MANY, clock.now())
  for (const token of tokens) assert.is(await status(server, token), 200)
  const before = new Map(watch.statements)
  const since = (name: string): number => (watch.statements.get(name) ?? 0) - (before.get(name) ?? 0)
  for (let second = 0; second < 3; second += 1) {
    await clock.advance(1_500)
    for (const token of tokens) assert.is(await status(server, token), 200)
  }
  assert.is(since('smart.token'), 0, 'tokens that were read')
  assert.is(since('smart.access-change-last'), 3, 'one query of a second asks for changes')
  await clock.advance(HOUR)
  assert.is(await status(server, tokens[0] as string), 401, 'it has expired')
})

on('tokens are not read again after a minute without requests', async ({ server, clock, watch }) => {
  const tokens = await addTokens(server, 10, clock.now())
  for (const token of tokens) assert.is(await status(server, token), 200)
  const before = watch.statements.get('smart.token')
  const ping = sql('test.ping', 'SELECT 1')
  let [begun, ended] = [0, 0]
  watch.beforeOne = () => {
    begun += 1
    return undefined
  }
  watch.behindOne = async () => {
    ended += 1
  }
  for (let second = 0; second < 60; second += 1) {
    await clock.advance(1_000)
    // A query of PostgreSQL takes time of the machine, in which this clock stands still.
    await until(() => begun === ended, 20_000, 'the queries')
    await server.get(Database).get(ping, [])
  }
  watch.beforeOne = undefined
  watch.behindOne = undefined
  for (const token of tokens) assert.is(await status(server, token), 200)
  assert.is(watch.statements.get('smart.token'), before)
})

on('a change concerns the tokens that depend on the row, and no others', async ({ server, clock, watch, app }) => {
  const [one = '', other = ''] = await addTokens(server, 2, clock.now())
  const mine = await tokensOf(server, app, 'user/*.rs offline_access')
  for (const token of [one, other, mine.access_token]) assert.is(await status(server, token), 200)
  await run(server, 'DELETE FROM oauth_token WHERE id_hash = ?', [hashOf(one)])
  await clock.advance(1_000)
  const before = watch.statements.get('smart.token') ?? 0
  assert.is(await status(server, other), 200)
  assert.is(await status(server, mine.access_token), 200)
  assert.is(watch.statements.get('smart.token') ?? 0, before)
  assert.is(await status(server, one), 401)
})

const ends: readonly (readonly [string, (clinic: Clinic, tokens: Tokens) => Promise<unknown>])[] = [
  [
    'is deleted',
    ({ server }, tokens) => run(server, 'DELETE FROM oauth_token WHERE id_hash = ?', [hashOf(tokens.access_token)]),
  ],
  [
    'is marked as consumed',
    ({ server }, tokens) =>
      run(server, 'UPDATE oauth_token SET consumed_at = 1 WHERE id_hash = ?', [hashOf(tokens.access_token)]),
  ],
  ['has a grant that is revoked', ({ server }) => run(server, 'UPDATE oauth_grant SET revoked_at = ?', [1])],
  ['has a grant that is removed', ({ server }) => run(server, 'DELETE FROM oauth_grant WHERE expires_at > ?', [0])],
  ['has a session that is over', ({ server }) => run(server, 'DELETE FROM oauth_session WHERE expires_at > ?', [0])],
  ['has a session that is cut', ({ server }) => run(server, 'UPDATE oauth_session SET expires_at = ?', [1])],
  [
    'is of a client that is disabled',
    ({ server, app }) => run(server, 'UPDATE oauth_client SET disabled_at = ? WHERE client_id = ?', [1, app.id]),
  ],
  ['is of a person without a record', ({ server }) => removeRecord(server, 'Practitioner', 'doc')],
  ['is of a person who is inactive', ({ server }) => store(server, [{ ...DOC, active: false }])],
]
for (const [how, end] of ends)
  on(`a token that ${how} is refused within a second`, async (all) => {
    const { server, clock } = all
    await store(server, [DOC])
    const app = await registerApp(server)
    const tokens = await tokensOf(server, app, 'user/*.rs online_access', {}, createTestBrowser(server))
    for (let n = 0; n < 3; n += 1) {
      assert.is(await status(server, tokens.access_token), 200)
      await clock.advance(1_000)
    }
    assert.is(await status(server, tokens.access_token), 200)
    await end({ ...all, app }, tokens)
    await clock.advance(1_000)
    assert.is(await status(server, tokens.access_token), 401)
    assert.is(await status(server, tokens.access_token), 401, 'and again')
  })

on('changes that were removed before they were read count', async ({ server, clock }) => {
  await store(server, [DOC])
  const app = await registerApp(server)
  const tokens = await tokensOf(server, app, 'user/*.rs offline_access')
  assert.is(await status(server, tokens.access_token), 200)
  await run(server, 'UPDATE oauth_grant SET revoked_at = ?', [1])
  await run(server, 'DELETE FROM smart_access_change WHERE number >= ?', [0])
  await clock.advance(1_000)
  assert.is(await status(server, tokens.access_token), 401)
})

on('a change counts that has the number of one which the database has lost', async ({ server, clock }) => {
  const [kept = '', lost = '', next = ''] = await addTokens(server, 3, clock.now())
  for (const token of [kept, next]) assert.is(await status(server, token), 200)
  await run(server, 'DELETE FROM oauth_token WHERE id_hash = ?', [hashOf(lost)])
  await clock.advance(1_000)
  assert.is(await status(server, next), 200, 'the server has read the change')
  // As after a failover to a server that had not received the last transaction.
  await run(
    server,
    'DELETE FROM smart_access_change WHERE number + ? > (SELECT last FROM smart_access_change_count)',
    [1],
  )
  await run(server, 'UPDATE smart_access_change_count SET last = last - ?', [1])
  await run(server, 'DELETE FROM oauth_token WHERE id_hash = ?', [hashOf(next)])
  await clock.advance(1_000)
  assert.is(await status(server, next), 401)
  assert.is(await status(server, kept), 200)
})

on('more changes at once than are told apart count for all', async ({ server, clock }) => {
  const tokens = await addTokens(server, 1_200, clock.now())
  const last = tokens.at(-1) as string
  assert.is(await status(server, last), 200)
  await run(server, 'DELETE FROM oauth_token WHERE grant_id IS NULL AND iat > ?', [0])
  await clock.advance(1_000)
  assert.is(await status(server, last), 401)
})

on('while the changes cannot be read no token is let in', async ({ server, clock }) => {
  const [token = ''] = await addTokens(server, 1, clock.now())
  assert.is(await status(server, token), 200)
  await run(server, 'DELETE FROM smart_access_change_count WHERE last >= ?', [0])
  await clock.advance(1_000)
  assert.is(await status(server, token), 500)
  await run(server, "INSERT INTO smart_access_change_count (last, mark) VALUES (?, '')", [0])
  assert.is(await status(server, token), 200, 'a number that is smaller than before makes all tokens be read')
})

test.run()
