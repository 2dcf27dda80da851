/** Connections to /sync per caller, and live queries per connection. Spec: [rate_limit]. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { RequestContext, ServerError } from '../../../kernel/index.ts'
import { Limits, type SyncLimit } from '../../../plugins/limits/service.ts'
import { limited } from './limited.ts'

const from = (client: string): RequestContext => ({ caller: { kind: 'client', client }, address: '' }) as RequestContext

const withSync = async (rate_limit: Record<string, unknown>, work: (sync: SyncLimit) => void): Promise<void> => {
  const { kernel } = await limited({ settings: { rate_limit } })
  work(kernel.get(Limits).sync)
  await kernel.stop()
}
const refused = (work: () => unknown): ServerError => {
  try {
    work()
  } catch (error) {
    return error as ServerError
  }
  throw new Error('it was not refused')
}

test('the 11th connection of a caller is refused, the first ten live, and one that closes makes room', () =>
  withSync({}, (sync) => {
    const connections = Array.from({ length: 10 }, () => sync.connect(from('app')))
    const { status, code } = refused(() => sync.connect(from('app')))
    assert.is(status, 429)
    assert.is(code, 'throttled')
    for (const connection of connections) connection.openQuery()
    sync.connect(from('other'))
    connections[0]?.close()
    connections[0]?.close()
    sync.connect(from('app'))
    refused(() => sync.connect(from('app')))
  }))

test('the 101st live query of a connection is refused, the first hundred live, and one that ends makes room', () =>
  withSync({}, (sync) => {
    const connection = sync.connect(from('app'))
    for (let query = 0; query < 100; query += 1) connection.openQuery()
    const { status, code } = refused(() => connection.openQuery())
    assert.is(status, 429)
    assert.is(code, 'throttled')
    sync.connect(from('app')).openQuery()
    connection.closeQuery()
    connection.openQuery()
    refused(() => connection.openQuery())
  }))

test('both are settings', () =>
  withSync({ max_sync_connections: 1, max_live_queries: 2 }, (sync) => {
    const connection = sync.connect(from('app'))
    refused(() => sync.connect(from('app')))
    connection.openQuery()
    connection.openQuery()
    refused(() => connection.openQuery())
  }))

test.run()
