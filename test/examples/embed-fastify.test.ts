/** examples/embed-fastify.ts, started on a free port and used. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createApp } from '../../examples/embed-fastify.ts'
import { connectTo } from '../support/raw-client.ts'
import { basic } from '../support/server-with.ts'
import { firstWord, hello } from '../support/websocket.ts'

const HEADERS = { 'content-type': 'application/fhir+json' }

test('FHIR is under the prefix, the app beside it, and all links carry the prefix', async () => {
  const { app, kernel } = await createApp({
    plugins: [...basic, hello],
    settings: { database: { kind: 'memory' } },
    log: { level: 'silent' },
  })
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  await kernel.start()
  const base = `${address}/fhir`

  assert.is(await (await fetch(address)).text(), 'This is the app; FHIR is at /fhir.\n')
  for (const path of ['/livez', '/readyz', '/healthz', '/metadata'])
    assert.is((await fetch(base + path)).status, 200, path)
  assert.is((await fetch(`${address}/livez`)).status, 404)

  const created = await fetch(`${base}/Patient`, {
    method: 'POST',
    headers: HEADERS,
    body: '{"resourceType":"Patient"}',
  })
  assert.is(created.status, 201)
  const { id } = (await created.json()) as { id: string }
  const location = created.headers.get('location')
  assert.is(location, `${base}/Patient/${id}/_history/1`)
  assert.is((await fetch(location!)).status, 200)

  for (const query of ['/Patient/_history?_count=1', '/Patient?_count=1']) {
    await fetch(`${base}/Patient`, { method: 'POST', headers: HEADERS, body: '{"resourceType":"Patient"}' })
    const bundle = (await (await fetch(base + query)).json()) as {
      link: { relation: string; url: string }[]
      entry: { fullUrl: string }[]
    }
    assert.ok(bundle.link.length >= 2, query)
    for (const { url } of bundle.link) {
      assert.ok(url.startsWith(`${base}/`), url)
      assert.is((await fetch(url)).status, 200, url)
    }
    assert.match(bundle.entry[0]!.fullUrl, `${base}/Patient/`)
  }
  const { implementation } = (await (await fetch(`${base}/metadata`)).json()) as { implementation?: { url: string } }
  if (implementation !== undefined) assert.is(implementation.url, base)

  assert.is(await firstWord(`${base}/hello`), 'hello')
  await app.close()
  assert.is(kernel.phase, 'stopped')
  try {
    await connectTo(address)
    assert.unreachable()
  } catch (error) {
    assert.is((error as NodeJS.ErrnoException).code, 'ECONNREFUSED')
  }
})

test.run()
