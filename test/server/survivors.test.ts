/**
 * A request does not outlive its answer: one that is alive when the young generation is collected is copied, and then kept until V8
 * collects the whole heap.
 */
// database: sqlite
// process: its own, because V8 allocates in the old generation what earlier files have kept for long
import { setFlagsFromString } from 'node:v8'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnyPlugin, definePlugin } from '../../kernel/index.ts'
import audit from '../../plugins/audit/index.ts'
import database from '../../plugins/database/index.ts'
import { load, toGet } from '../bench/client.ts'
import { fhirPlugins } from '../support/fhir-plugins.ts'
import { searchDefinitions } from '../support/search-definitions.ts'
import { serverWith } from '../support/server-with.ts'
import { watchSurvivors } from '../support/watch-survivors.ts'

const WARM = 1_000
const REQUESTS = 1_000
const CONNECTIONS = 8
const TRIES = 3 // collections may meet requests that are not answered yet: the least counts
const MAX_BYTES = 2_000 // about half of what a request holds

setFlagsFromString('--no-allocation-site-pretenuring') // as `server` sets it

/** Bytes of each request that outlive it. `pathOf` gets the number of the request. */
const survivingBytes = async (pathOf: (n: number) => string, more: readonly AnyPlugin[] = []): Promise<number> => {
  const server = await serverWith({
    plugins: [database, searchDefinitions(), ...fhirPlugins, audit, ...more],
    settings: { server: { bind: '127.0.0.1:0' }, conformance: { update_as_create: true } },
  })
  try {
    const headers = { 'content-type': 'application/fhir+json' }
    const payload = JSON.stringify({ resourceType: 'Patient', id: 'p' })
    await server.inject({ method: 'PUT', url: '/Patient/p', headers, payload })
    const address = await server.listen()
    let sent = 0
    const next = (): string => {
      sent += 1
      return toGet(address, pathOf(sent))
    }
    const ask = (requests: number) => load({ address, connections: CONNECTIONS, requests, next })
    await ask(WARM)
    let least = Number.POSITIVE_INFINITY
    for (let tried = 0; tried < TRIES && least >= MAX_BYTES; tried += 1) {
      const end = await watchSurvivors()
      await ask(REQUESTS)
      const survivedOf = await end()
      least = Math.min(least, survivedOf() / REQUESTS)
    }
    return least
  } finally {
    await server.stop()
  }
}

test('a read that waits for a hook does not outlive its answer', async () => {
  const waits = definePlugin({
    name: 'waits',
    setup({ hooks }) {
      hooks.beforeRequest.tapPromise('wait', async () => {})
    },
  })
  const bytes = await survivingBytes(() => '/Patient/p', [waits])
  assert.ok(bytes < MAX_BYTES, `${bytes.toFixed(0)} bytes of each request survived`)
})

test('a search that is planned does not outlive its answer', async () => {
  const bytes = await survivingBytes((n) => `/Patient?identifier=i${n}`)
  assert.ok(bytes < MAX_BYTES, `${bytes.toFixed(0)} bytes of each request survived`)
})

test.run()
