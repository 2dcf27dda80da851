/** A request has one event, also where its client leaves. A search that its client gives up is no failure of the server. */
// database: sqlite, because what a hook waits for does not depend on the database
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { defineError, definePlugin } from '../../../kernel/index.ts'
import { Trail } from '../../../plugins/audit/service.ts'
import { connectTo } from '../../support/raw-client.ts'
import { until } from '../../support/until.ts'
import { audited, auditedPlugins, eventsOf } from './audited.ts'

const Cancelled = defineError('slow/cancelled', 503, 'timeout', 'The work was cancelled.')

/** Ends as a query does that is cancelled. */
const arrived = Promise.withResolvers<void>()
const writing = Promise.withResolvers<void>()
const slow = definePlugin({
  name: 'slow',
  setup({ hooks }) {
    hooks.onWrite.tapPromise('until the client leaves', async ({ request: { signal } }) => {
      const left = once(signal, 'abort')
      writing.resolve()
      await left
    })
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
  const refusals = (await eventsOf(server)).filter(({ subtype }) => subtype[0]?.code === 'request')
  assert.equal(refusals, [], 'beside its own event')
  await server.stop()
})

test('a change whose client resets the connection while it is made has its own event, and no other', async () => {
  const server = await audited({ plugins: [...auditedPlugins, slow], settings: { server: { bind: '127.0.0.1:0' } } })
  const { hostname, port } = new URL(await server.listen())
  const client = connect(Number(port), hostname)
  const body = '{"resourceType":"Patient"}'
  const head = `POST /Patient HTTP/1.1\r\nhost: a\r\ncontent-type: application/fhir+json\r\ncontent-length: ${body.length}`
  client.write(`${head}\r\n\r\n${body}`)
  await writing.promise
  client.resetAndDestroy()
  const kinds = async () => {
    const codes = (await eventsOf(server)).map(({ subtype }) => subtype[0]?.code ?? '')
    return codes.filter((code) => code === 'create' || code === 'request')
  }
  await until(async () => (await kinds()).includes('create'), 5_000, 'the event')
  await server.get(Trail).flush()
  assert.equal(await kinds(), ['create'])
  await server.stop()
})

test.run()
