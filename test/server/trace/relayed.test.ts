/** A request that a replica sends on is traced by the primary alone, and its answer names the trace that is there. */
// database: postgres, the one kind that several processes share
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnyPlugin, definePlugin } from '../../../kernel/index.ts'
import cluster from '../../../plugins/cluster/index.ts'
import { setUpRelay } from '../../../plugins/cluster/relay/set-up-relay.ts'
import { Searches } from '../../../plugins/search/service.ts'
import trace from '../../../plugins/trace/index.ts'
import { postgresKind } from '../../support/database-kinds.ts'
import { basic, serverWith } from '../../support/server-with.ts'
import { until } from '../../support/until.ts'

/** Sends changes to the primary; what a replica may write is decided elsewhere. */
const replicaOf = (primaryUrl: string): AnyPlugin =>
  definePlugin({
    name: 'cluster',
    setup({ hooks, clock, random, later }) {
      const searches = later(Searches)
      const keyFor = (purpose: string) => searches().opened.search.registry.keyFor(purpose)
      return setUpRelay({ hooks, clock, random, primaryUrl, keyFor, source: undefined })
    },
  })

test('the primary has the trace of a change, the replica that of its own read', async () => {
  const fresh = await postgresKind.fresh([trace, ...basic])
  const open = async (own: AnyPlugin) => {
    const server = await serverWith({
      together: true,
      plugins: [trace, ...basic, own],
      settings: { features: { trace_engine: true }, server: { bind: '127.0.0.1:0' }, ...fresh.settings },
    })
    return { server, address: await server.listen() }
  }
  const primary = await open(cluster)
  const replica = await open(replicaOf(primary.address))
  const statusAt = async ({ server }: typeof primary, id: unknown): Promise<number> =>
    (await server.inject(`/_trace/${id}`)).statusCode
  const made = await replica.server.inject({
    method: 'POST',
    url: '/Patient',
    headers: { 'content-type': 'application/fhir+json', 'x-trace': '1' },
    payload: JSON.stringify({ resourceType: 'Patient' }),
  })
  assert.is(made.statusCode, 201, made.body)
  const id = made.headers['x-trace-id']
  assert.is(await statusAt(primary, id), 200)
  assert.is(await statusAt(replica, id), 404)
  const found = (await primary.server.inject(`/_trace/${id}`)).json()
  assert.ok(found.steps.some(({ kind }: { readonly kind: string }) => kind === 'transaction'))
  const read = await replica.server.inject({ url: '/Patient', headers: { 'x-trace': '1' } })
  await until(
    async () => (await replica.server.inject(`/_trace/${read.headers['x-trace-id']}`)).json().finished === true,
    5_000,
    'the read to be over',
  )
  assert.is(await statusAt(primary, read.headers['x-trace-id']), 404)
  await replica.server.stop()
  await primary.server.stop()
  await fresh.remove()
})

test.run()
