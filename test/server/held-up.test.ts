/** Locks that another process holds for too long: who waits for them says so, and is in nobody's way meanwhile. */
// database: postgres, the one kind where others hold locks
import pg from 'pg'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../plugins/database/index.ts'
import probes from '../../plugins/probes/index.ts'
import { Contended } from '../../plugins/storage/errors.ts'
import { chosenKind, type FreshDatabase } from '../support/database-kinds.ts'
import { fhirPlugins } from '../support/fhir-plugins.ts'
import { searchDefinitions } from '../support/search-definitions.ts'
import { serverWith, type TestServer } from '../support/server-with.ts'
import { until } from '../support/until.ts'

const SESSIONS = 3 // of which two are for transactions
const WAITING = 6
const HEADERS = { 'content-type': 'application/fhir+json' }
const PATIENT = JSON.stringify({ resourceType: 'Patient', id: 'p', active: true })

let fresh: FreshDatabase
let server: TestServer
let holder: pg.Client
test.before(async () => {
  fresh = await chosenKind.fresh()
  const settings = {
    ...fresh.settings,
    cluster: { db_pool: SESSIONS },
    conformance: { update_as_create: true },
  }
  server = await serverWith({ plugins: [database, searchDefinitions(), ...fhirPlugins, probes], settings })
  holder = new pg.Client((fresh.settings.database as { postgres_url: string }).postgres_url)
  await holder.connect()
  assert.is(
    (await server.inject({ method: 'PUT', url: '/Patient/p', headers: HEADERS, payload: PATIENT })).statusCode,
    201,
  )
})
test.after(async () => {
  await holder.end()
  await server.stop()
  await fresh.remove()
})

interface Held {
  readonly what: string
  readonly statement: string
  readonly request: { readonly method: 'POST' | 'PUT'; readonly url: string; readonly headers: Record<string, string> }
}
const held: readonly Held[] = [
  {
    what: 'the lock of conditional creates',
    statement: "SELECT pg_advisory_xact_lock(hashtextextended('conditional/Patient', 0))",
    request: { method: 'POST', url: '/Patient', headers: { ...HEADERS, 'if-none-exist': 'identifier=urn:x|1' } },
  },
  {
    what: 'the row of a resource',
    statement: "SELECT 1 FROM resource WHERE id = 'p' FOR UPDATE",
    request: { method: 'PUT', url: '/Patient/p', headers: HEADERS },
  },
]
for (const { what, statement, request } of held)
  test(`while another process holds ${what}, others write, and who waits is told 409 in the end`, async () => {
    await holder.query('ROLLBACK; BEGIN')
    await holder.query(statement)
    let answered = 0
    const payload = JSON.stringify({ resourceType: 'Patient', id: 'p', active: false })
    const waiting = Array.from({ length: WAITING }, async () => {
      const answer = await server.inject({ ...request, payload })
      answered += 1
      return `${answer.statusCode} ${answer.json().issue?.[0].diagnostics}`
    })
    const blocked =
      'SELECT count(*)::int AS n FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))'
    await until(async () => (await holder.query(blocked)).rows[0].n > 0, 2_500, 'one to wait')
    const payloads = Array.from({ length: 4 }, () => '{"resourceType":"Observation"}')
    const others = payloads.map((one) =>
      server.inject({ method: 'POST', url: '/Observation', headers: HEADERS, payload: one }),
    )
    for (const other of await Promise.all(others)) assert.is(other.statusCode, 201)
    assert.is(answered, 0, 'others need not wait for those that wait')
    assert.is((await holder.query(blocked)).rows[0].n, 1, 'sessions that wait')
    assert.equal(
      await Promise.all(waiting),
      Array.from({ length: WAITING }, () => `409 ${Contended().message}`),
    )
  })

test.run()
