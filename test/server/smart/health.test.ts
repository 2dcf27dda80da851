/** Probes of a server that asks for tokens: open, but for the counters. */
// database: sqlite, because probes ask nothing of the database but whether it answers
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { registerService, smartServer, tokenOf } from '../../support/smart-server.ts'

let server: TestServer
let token: string
test.before(async () => {
  server = await smartServer()
  token = await tokenOf(server, await registerService(server))
})
test.after(() => server.stop())

const ask = (url: string, authorization?: string) =>
  server.inject({ url, headers: authorization === undefined ? {} : { authorization } })

test('probes ask for no token, and an unknown one does not trouble them', async () => {
  for (const url of ['/livez', '/readyz', '/healthz', '/healthz?verbose=0'])
    for (const authorization of [undefined, 'Bearer garbage', 'Basic x'])
      assert.is((await ask(url, authorization)).statusCode, 200, `${url} ${authorization}`)
})

test('the counters are shown to who has a token', async () => {
  const answer = await ask('/healthz?verbose=1', `Bearer ${token}`)
  assert.is(answer.statusCode, 200)
  assert.ok(Object.keys(answer.json()).length > 2, answer.body)
})

test('without a token, or with an unknown one, they are 401', async () => {
  const missing = await ask('/healthz?verbose=1')
  assert.is(missing.statusCode, 401)
  assert.is(missing.headers['www-authenticate'], 'Bearer')
  assert.is(missing.json().issue[0].code, 'login')
  for (const unknown of ['garbage', 'x'.repeat(43), `${token}x`]) {
    const answer = await ask('/healthz?verbose=1', `Bearer ${unknown}`)
    assert.is(answer.statusCode, 401)
    assert.match(String(answer.headers['www-authenticate']), 'invalid_token')
  }
})

test('where nobody asks for tokens they are shown to everybody', async () => {
  const open = await serverWith()
  try {
    const { statusCode, body } = await open.inject('/healthz?verbose=1')
    assert.is(statusCode, 200)
    assert.ok(Object.keys(JSON.parse(body)).length > 2, body)
  } finally {
    await open.stop()
  }
})

test.run()
