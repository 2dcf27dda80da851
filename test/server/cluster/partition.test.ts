/** Connections that are cut or silent: between the holder of the lease and the database, and between clients and the holder. F5 to F8. */
// database: postgres, the one kind that several processes share
// waits: for connections that are silent, and for leases that run out
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { chosenKind } from '../../support/database-kinds.ts'
import { freshWith, primaryHere, reasonOf, send, startReplica, urlOf, whenSays } from '../../support/replica-servers.ts'
import { searchDefinitions } from '../../support/search-definitions.ts'
import { basic, serverWith } from '../../support/server-with.ts'
import { startTcpProxy } from '../../support/tcp-proxy.ts'
import { until } from '../../support/until.ts'
import {
  outcomeOf,
  put,
  startWriterPair,
  WAITING,
  type WriterPair,
  whenFailed,
  whenReady,
} from '../../support/writer-pair.ts'

const REFUSES_MS = 5_000
const BEATS = 10 // of a second each: longer than a lease that nobody confirms

/** Functions that end what a test has started, called after it in reverse order. */
const ends: (() => unknown)[] = []
test.after.each(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})
const startPair = async (): Promise<WriterPair> => {
  const pair = await startWriterPair()
  ends.push(() => pair.stop())
  return pair
}

test('a holder that is cut off from the database refuses within 5 seconds, is replaced, and acknowledges nothing that is lost', async () => {
  const pair = await startPair()
  const { first, second, proxy } = pair
  const acknowledged: string[] = []
  let isOver = false
  const write = async (own: number): Promise<void> => {
    for (let n = 0; !isOver; n += 1) {
      const id = `w${own}-${n}`
      const status = await outcomeOf(put(first, id))
      if (status === 201) acknowledged.push(id)
      else await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  const writers = [write(0), write(1)]
  ends.push(() => {
    isOver = true
  })
  await until(() => acknowledged.length >= 20, REFUSES_MS * 2, 'some writes')
  proxy.onClient = () => 'swallow'
  const close = proxy.silence()
  const late = performance.now()
  assert.is(await put(first, 'late'), 503)
  assert.ok(performance.now() - late < REFUSES_MS, `${performance.now() - late} ms`)
  assert.is.not(await reasonOf(first), 'ok')
  await whenReady(second)
  const before = acknowledged.length
  assert.is(await put(second, 'after'), 201)
  proxy.onClient = () => 'pass'
  close()
  await whenFailed(first)
  isOver = true
  await Promise.all(writers)
  assert.is(acknowledged.length, before, 'it acknowledged nothing more')
  for (const id of acknowledged) assert.is((await send(second, 'GET', `/Patient/${id}`)).status, 200, id)
  assert.is((await send(second, 'GET', '/Patient/late')).status, 404)
})

test('a holder that no client reaches keeps the lease, says so on /healthz, and goes on when they reach it', async () => {
  const pair = await startPair()
  const { first, second } = pair
  const clients = await startTcpProxy(Number(new URL(first.base).port))
  ends.push(() => clients.stop())
  const front = { base: `http://127.0.0.1:${clients.port}` }
  assert.is(await put(front, 'a'), 201)
  clients.onClient = () => 'drop'
  clients.cut()
  assert.is(await outcomeOf(put(front, 'b')), 0)
  const { epoch, beat } = await pair.lease()
  await until(async () => (await pair.lease()).beat >= beat + BEATS, 2 * BEATS * 1_000, 'beats')
  assert.is((await pair.lease()).epoch, epoch)
  assert.equal([await reasonOf(first), await reasonOf(second)], ['ok', WAITING])
  assert.is((await fetch(`${first.base}/healthz`)).status, 200)
  clients.onClient = () => 'pass'
  assert.is(await put(front, 'b'), 201)
})

for (const [what, verdict] of [
  ['was lost on the way', 'swallow'],
  ['was carried out, and nobody heard', 'mute'],
] as const)
  test(`a create over a connection that goes silent, whose COMMIT ${what}, is 503; with If-None-Exist it is made once`, async () => {
    const fresh = await chosenKind.fresh(basic)
    ends.push(() => fresh.remove())
    const url = new URL(urlOf(fresh))
    const proxy = await startTcpProxy(Number(url.port))
    ends.push(() => proxy.stop())
    url.port = String(proxy.port)
    const server = await serverWith({
      plugins: basic.map((one) => (one.name === 'stub-definitions' ? searchDefinitions() : one)),
      settings: { database: { kind: 'postgres', postgres_url: url.href } },
    })
    ends.push(() => server.stop())
    const create = (more: Record<string, string> = {}) =>
      server.inject({
        method: 'POST',
        url: '/Patient',
        headers: { 'content-type': 'application/fhir+json', ...more },
        payload: JSON.stringify({ resourceType: 'Patient', identifier: [{ system: 'urn:x', value: 'halfopen' }] }),
      })
    let isStruck = false
    proxy.onClient = (chunk) => {
      if (isStruck || !chunk.includes('halfopen')) return 'pass'
      isStruck = true
      return verdict
    }
    const unknown = await create()
    assert.ok(isStruck)
    assert.is(unknown.statusCode, 503, unknown.body)
    assert.is((unknown.json() as { issue: { code: string }[] }).issue[0]?.code, 'transient')
    const again = await create({ 'if-none-exist': 'identifier=urn:x|halfopen' })
    assert.is(again.statusCode, verdict === 'mute' ? 200 : 201, again.body)
    const found = await server.inject('/Patient?identifier=urn:x|halfopen&_total=accurate')
    assert.is((found.json() as { total: number }).total, 1)
  })

test('a replica that stands still is in nobody’s way, and shows nothing old when it goes on', async () => {
  const fresh = await freshWith()
  ends.push(() => fresh.remove())
  const primary = await primaryHere(fresh)
  ends.push(() => primary.stop())
  const replica = await startReplica(fresh, primary.base)
  ends.push(() => replica.kill())
  assert.is(await put(primary, 'a', 'one'), 201)
  replica.child.kill('SIGSTOP')
  let snapshot: string | null = null
  for (let n = 0; n < 50; n += 1) {
    const body = { resourceType: 'Patient', id: 'a', name: [{ family: `n${n}` }] }
    const made = await send(primary, 'PUT', '/Patient/a', body)
    assert.is(made.status, 200)
    snapshot = made.snapshot
  }
  const waiting = Promise.all([
    send(replica, 'GET', '/Patient/a'),
    send(replica, 'GET', '/Patient/a', undefined, { 'x-snapshot': snapshot }),
  ])
  replica.child.kill('SIGCONT')
  for (const { status, json } of await waiting)
    assert.ok(status === 503 || json.name[0].family === 'n49', `${status} ${JSON.stringify(json)}`)
  await whenSays(replica, 'ok')
  assert.is((await send(replica, 'GET', '/Patient/a')).json.name[0].family, 'n49')
})

test.run()
