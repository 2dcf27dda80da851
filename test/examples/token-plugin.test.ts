/** examples/token-plugin.ts over HTTP. */
import { createHash } from 'node:crypto'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import tokenPlugin from '../../examples/token-plugin.ts'
import { definePlugin } from '../../kernel/index.ts'
import limits from '../../plugins/limits/index.ts'
import { type Clinic, clinicWith } from '../server/writes/clinic.ts'

const TOKEN = 'a-long-random-token'
const CLIENTS = { tokens: { clients: [`desk:${createHash('sha256').update(TOKEN).digest('hex')}`] } }
const bearing = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

const callers: string[] = []
const listener = definePlugin({
  name: 'listener',
  setup({ hooks }) {
    hooks.authorize.tap('listen', ({ caller }) => void callers.push(`${caller.kind} ${caller.client}`))
  },
})

const test = suite<{ clinic: Clinic }>('token plugin')
let clinic: Clinic
test.before(async () => {
  clinic = await clinicWith(CLIENTS, [tokenPlugin, listener])
})
test.after(() => clinic.stop())

test('a client with a token is let in and known to the other hooks', async () => {
  callers.length = 0
  assert.is((await clinic.ask('POST', '/Patient', { resourceType: 'Patient' }, bearing(TOKEN))).status, 201)
  assert.equal(callers, ['client desk'])
})

test('without a token everything is refused but /metadata', async () => {
  const { status, headers, json } = await clinic.ask('GET', '/Patient')
  assert.equal([status, headers['www-authenticate'], json.issue[0].code], [401, 'Bearer', 'login'])
  assert.is((await clinic.ask('GET', '/metadata')).status, 200)
})

for (const authorization of [
  'Bearer other',
  'Bearer',
  'Basic ZGVzazp4',
  `Bearer ${TOKEN} ${TOKEN}`,
  `Bearer ${TOKEN}x`,
])
  test(`an unknown or malformed token is refused, at /metadata too: ${authorization}`, async () => {
    for (const url of ['/Patient', '/metadata']) {
      const { status, headers } = await clinic.ask('GET', url, undefined, { headers: { authorization } })
      assert.equal([status, headers['www-authenticate']], [401, 'Bearer error="invalid_token"'])
    }
  })

test('a token in the URL is refused, also beside a good one', async () => {
  for (const url of [`/Patient?access_token=${TOKEN}`, `/Patient?_count=1&access_token=${TOKEN}`])
    assert.is((await clinic.ask('GET', url, undefined, bearing(TOKEN))).status, 400)
})

test('where unknown tokens are limited, those who try many wait, and a good token does not', async () => {
  const limited = await clinicWith({ ...CLIENTS, rate_limit: { enabled: true, auth_failures_per_minute: 2 } }, [
    tokenPlugin,
    limits,
  ])
  try {
    const statuses: number[] = []
    for (const token of ['a', 'b', 'c', TOKEN])
      statuses.push((await limited.ask('GET', '/Patient', undefined, bearing(token))).status)
    assert.equal(statuses, [401, 401, 429, 200])
  } finally {
    await limited.stop()
  }
})

test.run()
