/** The connection is lost after the database has committed events, and before it said so: each event is there once. */
// database: postgres, because only there a connection can be lost
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { chosenKind } from '../../support/database-kinds.ts'
import { startTcpProxy } from '../../support/tcp-proxy.ts'
import { until } from '../../support/until.ts'
import { audited, auditedPlugins, eventsOf, send, verdictOf } from './audited.ts'

test('events of reads whose COMMIT took place unseen are not written again', async () => {
  const { settings, remove } = await chosenKind.fresh(auditedPlugins)
  const url = new URL((settings.database as { postgres_url: string }).postgres_url)
  const proxy = await startTcpProxy(Number(url.port))
  url.port = String(proxy.port)
  const server = await audited({
    settings: { database: { kind: 'postgres', postgres_url: url.href }, conformance: { update_as_create: true } },
  })
  const ids = ['first-read', 'second-read', 'third-read']
  for (const id of ids) await send(server, 'PUT', `/Patient/${id}`, { resourceType: 'Patient', id })
  let cuts = 0
  for (const id of ids) {
    assert.is((await server.inject(`/Patient/${id}`)).statusCode, 200)
    // The read is answered, so the next statement that names it is the insert of its event.
    proxy.onClient = (chunk) => {
      if (cuts >= ids.indexOf(id) + 1 || !chunk.includes(id)) return 'pass'
      cuts += 1
      return 'cut'
    }
    await until(() => cuts === ids.indexOf(id) + 1, 10_000, 'the event to be sent')
  }
  proxy.onClient = () => 'pass'
  const reads = async (): Promise<readonly string[]> =>
    (await eventsOf(server))
      .filter(({ subtype }) => subtype.some(({ code }) => code === 'read'))
      .map(({ entity }) => String(entity?.find(({ what }) => what?.reference?.startsWith('Patient/'))?.what?.reference))
  await until(async () => (await reads().catch(() => [])).length >= ids.length, 10_000, 'the events')
  assert.equal((await reads()).map((reference) => reference.split('/')[1]).sort(), [...ids].sort())
  assert.is((await verdictOf(server)).ok, true)
  await server.stop()
  proxy.stop()
  await remove()
})

test.run()
