/** The entries of a batch that are left when the writer lease ran out are refused, as requests are. */
// database: postgres; of a SQLite file no other server takes over while the process lives
// waits: for a lease that runs out
import pg from 'pg'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin } from '../../../kernel/index.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import { urlOf } from '../../support/replica-servers.ts'
import { basic, serverWith } from '../../support/server-with.ts'

const ENTRIES = 200
const AT_ONCE = 32 // entries that are performed at the same time
const STANDSTILL_MS = 4_500 // longer than an unconfirmed lease is valid

test('entries that begin when the lease is no longer confirmed are 503, those before are answered', async () => {
  let asked = 0
  const stalling = definePlugin({
    name: 'stalling',
    setup({ hooks }) {
      hooks.authorize.tap('stall', (_request, { kind }) => {
        if (kind !== 'read') return
        asked += 1
        // As a process that does not get the processor: the lease is watched by the system's clock.
        if (asked === 50) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STANDSTILL_MS)
      })
    },
  })
  const fresh = await chosenKind.fresh(basic)
  const server = await serverWith({
    plugins: [...basic, stalling],
    settings: { ...fresh.settings, conformance: { update_as_create: true } },
  })
  const headers = { 'content-type': 'application/fhir+json' }
  const patient = JSON.stringify({ resourceType: 'Patient', id: 'a' })
  assert.is((await server.inject({ method: 'PUT', url: '/Patient/a', headers, payload: patient })).statusCode, 201)
  const entry = Array.from({ length: ENTRIES }, () => ({ request: { method: 'GET', url: 'Patient/a' } }))
  const payload = JSON.stringify({ resourceType: 'Bundle', type: 'batch', entry })
  // No beat is confirmed until the batch is answered, or entries behind the standstill would be answered again.
  const onlooker = new pg.Client(urlOf(fresh))
  await onlooker.connect()
  await onlooker.query('BEGIN; LOCK TABLE cluster_lease')
  const answer = await server.inject({ method: 'POST', url: '/', headers, payload })
  await onlooker.end()
  assert.is(answer.statusCode, 200)
  const statuses = (answer.json().entry as { response: { status: string } }[]).map(({ response }) =>
    response.status.slice(0, 3),
  )
  assert.is(statuses.length, ENTRIES)
  // Which ones were answered before is not said: one may wait for the database while others are read from memory.
  assert.ok(statuses.filter((status) => status === '200').length >= 50 - AT_ONCE, String(statuses))
  assert.equal([...new Set(statuses.slice(50 + AT_ONCE))], ['503'])
  assert.ok(asked < 50 + AT_ONCE, 'the others are not begun')
  await server.stop()
  await fresh.remove()
})

test.run()
