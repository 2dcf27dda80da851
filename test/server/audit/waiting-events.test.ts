// database: sqlite, because what is kept in memory does not depend on the database
// process: its own, because V8 allocates in the old generation what earlier files have kept for long
/** An event that waits to be written keeps what it tells of, and not the request with its answer and its buffers. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AuditFact, definePlugin } from '../../../kernel/index.ts'
import audit from '../../../plugins/audit/index.ts'
import { Trail } from '../../../plugins/audit/service.ts'
import database from '../../../plugins/database/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { watchHeldMemory } from '../../support/held-memory.ts'
import { searchDefinitions } from '../../support/search-definitions.ts'
import { serverWith } from '../../support/server-with.ts'
import { watchSurvivors } from '../../support/watch-survivors.ts'

interface Waiting {
  readonly kind: string
  readonly details: AuditFact['details']
  readonly request: WeakRef<AuditFact['request']>
}

const JSON_BODY = { 'content-type': 'application/fhir+json' }
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const TURNS = 60
const AT_ONCE = 50 // reads, whose events are written together
const EVENT_BYTES = 200 // of an event, and more

/** An address, with the query that its event has, and the number of patients. */
const READS = [
  ['GET', '/Patient?gender=male&_count=5', 'gender=male&_count=5', 1],
  ['GET', '/Patient?gender=male&_count=5', 'gender=male&_count=5', 1], // from the page cache
  ['GET', '/Patient?name:contains=wan&_summary=true', 'name:contains=wan&_summary=true', 1],
  ['GET', '/Patient/p', undefined, 1],
  ['GET', '/Patient/p/_history/1', undefined, 1],
  ['GET', '/Patient/p/_history?_count=3', '_count=3', 1],
  ['GET', '/Patient/_history', '', 1],
  ['GET', '/Patient/p/$everything', '', 1],
  ['POST', '/Patient/_search?_count=4', '_count=4&gender=male', 1],
] as const

test('an event that waits for the trail does not keep its request in memory', async () => {
  const waiting: Waiting[] = []
  const trail = definePlugin({
    name: 'trail',
    setup({ hooks }) {
      hooks.onAudit.tap('wait', ({ request, interaction, details }) => {
        waiting.push({ kind: interaction.kind, details, request: new WeakRef(request) })
      })
    },
  })
  const server = await serverWith({
    plugins: [database, searchDefinitions(), ...fhirPlugins, trail],
    settings: { conformance: { update_as_create: true } },
  })
  try {
    const payload = JSON.stringify({ resourceType: 'Patient', id: 'p', gender: 'male', name: [{ family: 'Kwan' }] })
    await server.inject({ method: 'PUT', url: '/Patient/p', headers: JSON_BODY, payload })
    waiting.length = 0
    for (const [method, url] of READS) {
      const form = method === 'POST' ? { headers: FORM, payload: 'gender=male' } : {}
      const { statusCode, body } = await server.inject({ method, url, ...form })
      assert.is(statusCode, 200, `${url}: ${body}`)
    }
    const collect = watchHeldMemory()
    await collect()
    assert.equal(
      waiting.map(({ kind, request }) => [kind, request.deref()?.url]),
      waiting.map(({ kind }) => [kind, undefined]),
    )
    assert.equal(
      waiting.map(({ details }) => [details?.query?.(), details?.patients?.().length]),
      READS.map(([, , query, patients]) => [query, patients]),
    )
  } finally {
    await server.stop()
  }
})

test('an event that is written does not outlive the next collections of the young generation', async () => {
  const server = await serverWith({
    plugins: [database, searchDefinitions(), ...fhirPlugins, audit],
    settings: { conformance: { update_as_create: true } },
  })
  try {
    const payload = JSON.stringify({ resourceType: 'Patient', id: 'p' })
    await server.inject({ method: 'PUT', url: '/Patient/p', headers: JSON_BODY, payload })
    const end = await watchSurvivors()
    for (let turn = 0; turn < TURNS; turn += 1) {
      await Promise.all(Array.from({ length: AT_ONCE }, () => server.inject('/Patient/p')))
      await server.get(Trail).flush()
    }
    const survivedOf = await end()
    const bytes = survivedOf('eventOf') / TURNS / AT_ONCE
    assert.ok(bytes < EVENT_BYTES / 4, `${bytes.toFixed(0)} bytes of each event survived`)
  } finally {
    await server.stop()
  }
})

test.run()
