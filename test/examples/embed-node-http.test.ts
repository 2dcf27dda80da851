/** examples/embed-node-http.ts, started on a free port and used. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createSite } from '../../examples/embed-node-http.ts'
import { basic } from '../support/server-with.ts'
import { firstWord, hello } from '../support/websocket.ts'

const HEADERS = { 'content-type': 'application/fhir+json' }

test('it answers 503 until it is started, then serves beside the pages of the site, and stops', async () => {
  const { server, kernel, stop } = await createSite({
    plugins: [...basic, hello],
    settings: { database: { kind: 'memory' } },
    log: { level: 'silent' },
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  assert.match(await (await fetch(address)).text(), 'This is the site')
  const early = await fetch(`${address}/metadata`)
  assert.is(early.status, 503)
  assert.match(await early.text(), 'The server is starting')
  assert.is((await fetch(`${address}/livez`)).status, 200)

  await kernel.start()
  assert.is((await fetch(`${address}/readyz`)).status, 200)
  const payload = { method: 'POST', headers: HEADERS, body: '{"resourceType":"Patient"}' }
  const created = await fetch(`${address}/Patient`, payload)
  assert.is(created.status, 201)
  const { id } = (await created.json()) as { id: string }
  assert.is(created.headers.get('location'), `${address}/Patient/${id}/_history/1`)
  assert.is((await fetch(`${address}/Patient/${id}`)).status, 200)

  assert.is(await firstWord(`${address}/hello`), 'hello')
  await stop()
  assert.is(kernel.phase, 'stopped')
  assert.not(server.listening)
})

test.run()
