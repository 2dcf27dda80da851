/** Two servers that append to one trail take its head before they insert events, so they never wait for each other. */
// database: postgres, because only there another server may append meanwhile
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { withSession } from '../../support/connect-postgres.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import { until } from '../../support/until.ts'
import { audited, auditedPlugins, verdictOf } from './audited.ts'

const WAITING =
  "SELECT count(*)::int AS waiting FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

test('a server that waits for the head of the trail holds no event that the holder of the head inserts next', async () => {
  const { settings, remove } = await chosenKind.fresh(auditedPlugins)
  const url = (settings.database as { postgres_url: string }).postgres_url
  // So that PostgreSQL does not resolve a deadlock before the test has seen it.
  await withSession(url, (session) =>
    session.query(`ALTER DATABASE "${new URL(url).pathname.slice(1)}" SET deadlock_timeout = '30s'`),
  )
  const server = await audited({ settings: { ...settings, conformance: { update_as_create: true } } })
  // A transaction with two entries reads before it writes, so its statements are not sent all at once.
  const change = (active: boolean) => {
    const entry = ['a', 'b'].map((id) => ({
      resource: { resourceType: 'Patient', id, active },
      request: { method: 'PUT', url: `Patient/${id}` },
    }))
    return server.inject({
      method: 'POST',
      url: '/',
      headers: { 'content-type': 'application/fhir+json' },
      payload: JSON.stringify({ resourceType: 'Bundle', type: 'transaction', entry }),
    })
  }
  assert.is((await change(true)).statusCode, 200)
  await withSession(url, async (other) => {
    await other.query('BEGIN')
    await other.query("SET LOCAL lock_timeout = '2s'")
    await other.query('SELECT 1 FROM audit_head FOR UPDATE')
    const changed = change(false)
    const isWaiting = (): Promise<boolean> =>
      withSession(url, async (watch) => (await watch.query<{ waiting: number }>(WAITING)).rows[0]?.waiting === 1)
    await until(isWaiting, 10_000, 'the server to wait for the head')
    // Throws after two seconds where the server has inserted an event with this number.
    await other.query(
      'INSERT INTO audit_event (seq, at, kind, status, mac) SELECT audit_head.seq + 1, 0, kind, status, audit_event.mac FROM audit_event, audit_head LIMIT 1',
    )
    await other.query('ROLLBACK')
    assert.is((await changed).statusCode, 200)
  })
  assert.is((await verdictOf(server)).ok, true)
  await server.stop()
  await remove()
})

test.run()
