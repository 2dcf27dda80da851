/** Unknown tokens: after so many from one address none is looked up. Spec: Authentication 9. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnyPlugin, defineError, definePlugin } from '../../../kernel/index.ts'
import { Database, sql } from '../../../plugins/database/service.ts'
import { Limits } from '../../../plugins/limits/service.ts'
import { assertRefused } from '../../support/refused.ts'
import { watchedDatabase } from '../../support/watched-database.ts'
import { type Limited, limited } from './limited.ts'

const Unknown = defineError('tokens/unknown', 401, 'login', 'The token is not valid.')
const lookUp = sql('tokens.find', 'SELECT name FROM database_pin WHERE name = ?')

/** Looks tokens up in the database unless it remembers them; `fhir_version` and `build` are good ones. */
const tokens: AnyPlugin = definePlugin({
  name: 'tokens',
  needs: { database: Database },
  uses: [Limits],
  setup({ hooks, needs: { database }, optional }) {
    const failures = optional(Limits)?.authFailures
    const known = new Set<string>()
    hooks.authenticate.tapPromise('look the token up', async (request) => {
      const token = request.headers.authorization?.slice('Bearer '.length)
      if (token === undefined) return undefined
      if (!known.has(token)) {
        const refusal = failures?.begin(request)
        if (refusal !== undefined) throw refusal
        if ((await database.get(lookUp, [token])) === undefined) throw Unknown()
        failures?.succeeded(request)
        known.add(token)
      }
      return { kind: 'client', client: token }
    })
  },
})

const withTokens = async (
  work: (
    parts: Limited & {
      readonly watch: { readonly asked: number }
      send(token: string, address?: string): Promise<{ statusCode: number; headers: any; body: string }>
    },
  ) => Promise<void>,
  rate_limit: Record<string, unknown> | undefined = {},
): Promise<void> => {
  const { plugin, watch } = watchedDatabase()
  const settings = rate_limit === undefined ? {} : { rate_limit }
  const server = await limited({ settings, database: plugin, tokens: false, more: [tokens] })
  const send = (token: string, address = '192.0.2.1') =>
    server.kernel.inject({ url: '/read', headers: { authorization: `Bearer ${token}` }, remoteAddress: address })
  try {
    await work({ ...server, watch, send })
  } finally {
    await server.kernel.stop()
  }
}

test('the 21st unknown token in a minute from one address is refused without a look-up, and only there', () =>
  withTokens(async ({ send, watch, clock }) => {
    assert.is((await send('build')).statusCode, 200)
    for (let n = 0; n < 20; n += 1) {
      assert.is((await send(`unknown-${n}`)).statusCode, 401)
      await clock.advance(1000)
    }
    const { asked } = watch
    const refused = await send('unknown-20')
    assertRefused(refused, { status: 429, code: 'throttled' }, 'the 21st')
    // The first of them is forty seconds from being forgotten.
    assert.is(refused.headers['retry-after'], '40')
    for (let n = 0; n < 100; n += 1) assert.is((await send(`unknown-${n}`)).statusCode, 429)
    // A good one that is not known yet would have to be looked up.
    assert.is((await send('fhir_version')).statusCode, 429)
    assert.is(watch.asked, asked)
    assert.is((await send('build')).statusCode, 200, 'a known token still passes')
    assert.is(watch.asked, asked)
    assert.is((await send('unknown-0', '192.0.2.2')).statusCode, 401, 'other addresses are not concerned')
    await clock.advance(40_000)
    assert.is((await send('unknown-21')).statusCode, 401)
    assert.is((await send('unknown-22')).statusCode, 429, 'one more is forgotten each second')
  }))

test('good tokens do not count, and refused ones do not prolong it', () =>
  withTokens(
    async ({ send, clock }) => {
      for (let n = 0; n < 3; n += 1) assert.is((await send(`unknown-${n}`)).statusCode, 401)
      assert.is((await send('fhir_version')).statusCode, 429)
      for (let n = 0; n < 10; n += 1) {
        await clock.advance(5_000)
        assert.is((await send('unknown')).statusCode, 429)
      }
      await clock.advance(10_000)
      assert.is((await send('fhir_version')).statusCode, 200)
      for (let n = 0; n < 3; n += 1) assert.is((await send(`unknown-${n}`)).statusCode, 401)
    },
    { auth_failures_per_minute: 3 },
  ))

test('of many unknown tokens at once no more are looked up than of as many in a row', () =>
  withTokens(async ({ send, watch }) => {
    const { asked } = watch
    const answers = await Promise.all(Array.from({ length: 100 }, (_, n) => send(`unknown-${n}`)))
    assert.is(answers.filter(({ statusCode }) => statusCode === 401).length, 20)
    assert.is(watch.asked, asked + 20)
  }))

test('without [rate_limit] every token is looked up', async () => {
  const { plugin, watch } = watchedDatabase()
  const settings = { quota: { requests_per_day: 1000 } }
  const { kernel } = await limited({ settings, database: plugin, tokens: false, more: [tokens] })
  const { asked } = watch
  for (let n = 0; n < 30; n += 1) {
    const { statusCode } = await kernel.inject({ url: '/read', headers: { authorization: `Bearer unknown-${n}` } })
    assert.is(statusCode, 401)
  }
  assert.is(watch.asked, asked + 30)
  await kernel.stop()
})

test.run()
