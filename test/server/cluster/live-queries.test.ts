/** Live queries on a replica are refused: it would show a first page and none of the changes. */
// database: postgres, the one kind that has replicas
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import cluster from '../../../plugins/cluster/index.ts'
import smart from '../../../plugins/smart/index.ts'
import sync from '../../../plugins/sync/index.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import { SECRETS, startPrimary } from '../../support/replica-servers.ts'
import { basic, serverWith } from '../../support/server-with.ts'

test('a replica answers POST and GET of /sync with 503, and names where to go', async () => {
  const fresh = await chosenKind.fresh()
  const primary = await startPrimary(fresh)
  const replica = await serverWith({
    plugins: [...basic, smart, cluster, sync],
    settings: {
      ...fresh.settings,
      server: { bind: '127.0.0.1:0' },
      smart: SECRETS,
      cluster: { role: 'replica', primary_url: primary.base },
    },
  })
  const headers = { 'content-type': 'application/json', accept: 'text/event-stream' }
  const payload = JSON.stringify({ queries: [{ id: 'a', query: 'Patient' }] })
  const posted = await replica.inject({ method: 'POST', url: '/sync', headers, payload })
  assert.is(posted.statusCode, 503, posted.body)
  assert.match(posted.body, /open live queries at the server that writes/)
  const base = await replica.listen()
  const socket = new WebSocket(`${base.replace('http', 'ws')}/sync`)
  const failed = await new Promise<string>((resolve) => {
    socket.addEventListener('message', () => resolve('a message'))
    socket.addEventListener('error', () => resolve('refused'))
  })
  assert.is(failed, 'refused')
  await replica.stop()
  await primary.kill()
  await fresh.remove()
})

test.run()
