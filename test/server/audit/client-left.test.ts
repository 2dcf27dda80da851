/** A search whose client leaves is no failure of the server. */
// database: sqlite, because what a hook waits for does not depend on the database
import { once } from 'node:events'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { defineError, definePlugin } from '../../../kernel/index.ts'
import { connectTo } from '../../support/raw-client.ts'
import { until } from '../../support/until.ts'
import { audited, auditedPlugins, eventsOf } from './audited.ts'

const Cancelled = defineError('slow/cancelled', 503, 'timeout', 'The work was cancelled.')

/** Ends as a query does that is cancelled. */
const arrived = Promise.withResolvers<void>()
const slow = definePlugin({
  name: 'slow',
  setup({ hooks }) {
    hooks.authorize.tapPromise('until the client leaves', async ({ signal }, { kind }) => {
      if (kind !== 'search-type') return
      const left = once(signal, 'abort')
      arrived.resolve()
      await left
      throw Cancelled()
    })
  },
})

test('the event of a search whose client left has 499, which is no serious failure', async () => {
  const server = await audited({
    plugins: [...auditedPlugins, slow],
    settings: { server: { bind: '127.0.0.1:0' } },
  })
  const client = await connectTo(await server.listen())
  client.send('GET /Patient?name=a HTTP/1.1\r\nhost: a\r\n\r\n')
  await arrived.promise
  client.destroy()
  const ofSearches = async () => (await eventsOf(server)).filter(({ subtype }) => subtype[0]?.code === 'search-type')
  await until(async () => (await ofSearches()).length > 0, 5_000, 'the event')
  const events = (await ofSearches()) as unknown as { outcome: string; outcomeDesc: string }[]
  assert.equal(
    events.map(({ outcome, outcomeDesc }) => [outcome, outcomeDesc]),
    [['4', 'HTTP 499']],
  )
  await server.stop()
})

test.run()
