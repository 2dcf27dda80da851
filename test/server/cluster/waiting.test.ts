/** Of several servers on one database one writes; the others listen, wait for the writer lease and take it over. Spec: Cluster behavior. */
// database: sqlite, because it starts servers on SQLite and on PostgreSQL itself
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { postgresKind, sqliteKind } from '../../support/database-kinds.ts'
import { type SpawnedServer, spawnServer } from '../../support/spawn-server.ts'
import { until } from '../../support/until.ts'

const TAKEOVER_MS = 10_000 // allowed after SIGKILL
const HANDOVER_MS = 1_500 // one second is asked for; the rest is this machine's

const create = (server: SpawnedServer): Promise<Response> =>
  fetch(`${server.base}/Patient`, {
    method: 'POST',
    headers: { 'content-type': 'application/fhir+json' },
    body: '{"resourceType":"Patient","name":[{"text":"Quince"}]}',
  })
const idOf = async (answer: Response): Promise<string> => {
  assert.is(answer.status, 201)
  return ((await answer.json()) as { id: string }).id
}
const ready = async (server: SpawnedServer): Promise<boolean> => (await fetch(`${server.base}/readyz`)).status === 200
const whenReady = async (server: SpawnedServer, ms: number): Promise<number> => {
  const from = performance.now()
  await until(() => ready(server), ms, 'the other server to take over')
  return performance.now() - from
}
/** Answers of a server that waits. */
const checkWaits = async (server: SpawnedServer): Promise<void> => {
  const readyz = await fetch(`${server.base}/readyz`)
  assert.is(readyz.status, 503)
  assert.equal(await readyz.json(), { status: 'starting', reason: 'waiting for the writer lease' })
  assert.is((await fetch(`${server.base}/livez`)).status, 200)
  assert.is((await fetch(`${server.base}/healthz`)).status, 503)
  const refused = await create(server)
  assert.is(refused.status, 503)
  assert.ok(refused.headers.get('retry-after') !== null)
}
const whenWaiting = (server: SpawnedServer): Promise<void> =>
  until(
    async () =>
      ((await (await fetch(`${server.base}/readyz`)).json()) as { reason?: string }).reason ===
      'waiting for the writer lease',
    TAKEOVER_MS,
    'the second server to wait',
  )

for (const kind of [sqliteKind, postgresKind]) {
  const open = async () => {
    const fresh = await kind.fresh()
    return {
      remove: fresh.remove,
      start: (isEarly = false): Promise<SpawnedServer> => spawnServer(fresh.settings, { plugins: ['audit'], isEarly }),
    }
  }

  test(`${kind.name}: a second server waits, and takes over when the first one is killed, with all it acknowledged`, async () => {
    const { start, remove } = await open()
    const first = await start()
    const second = await start(true)
    await whenWaiting(second)
    await checkWaits(second)
    const ids: string[] = []
    for (let n = 0; n < 10; n += 1) ids.push(await idOf(await create(first)))
    await first.kill()
    const took = await whenReady(second, TAKEOVER_MS)
    assert.ok(took < TAKEOVER_MS, `${took} ms`)
    for (const id of ids) assert.is((await fetch(`${second.base}/Patient/${id}`)).status, 200)
    await idOf(await create(second))
    const found = (await (await fetch(`${second.base}/Patient?_content=quince`)).json()) as { total: number }
    assert.is(found.total, ids.length + 1, 'the words of both servers')
    const verdict = (await (await fetch(`${second.base}/_audit/verify`)).json()) as { ok: boolean }
    assert.is(verdict.ok, true)
    await second.kill()
    await remove()
  })

  test(`${kind.name}: SIGTERM hands over within a second, and ends one that waits at once`, async () => {
    const { start, remove } = await open()
    const first = await start()
    const [second, third] = [await start(true), await start(true)]
    await Promise.all([whenWaiting(second), whenWaiting(third)])
    const asked = performance.now()
    assert.is(await third.end('SIGTERM'), 0)
    assert.ok(performance.now() - asked < HANDOVER_MS)
    const id = await idOf(await create(first))
    const ended = first.end('SIGTERM')
    await whenReady(second, HANDOVER_MS + 1_000)
    assert.is(await ended, 0)
    assert.is((await fetch(`${second.base}/Patient/${id}`)).status, 200)
    await idOf(await create(second))
    await second.kill()
    await remove()
  })

  test(`${kind.name}: of three that start at once one writes, and each of the others after the one before is gone`, async () => {
    const { start, remove } = await open()
    const left = await Promise.all([start(true), start(true), start(true)])
    while (left.length > 0) {
      await until(async () => (await Promise.all(left.map(ready))).includes(true), TAKEOVER_MS, 'one to be ready')
      const states = await Promise.all(left.map(ready))
      assert.is(states.filter((one) => one).length, 1)
      const [holder] = left.splice(states.indexOf(true), 1) as [SpawnedServer]
      await idOf(await create(holder))
      for (const other of left) assert.is((await create(other)).status, 503)
      await holder.kill()
    }
    await remove()
  })
}

for (const kind of [sqliteKind, postgresKind])
  test(`${kind.name}: a standby tells its role, answers 503 to a balancer, and is the primary once it has taken over`, async () => {
    const { settings, remove } = await kind.fresh()
    const secrets = { dcr_token: 'd'.repeat(32), confidential_secret: 'c'.repeat(32) }
    const start = (role: string) =>
      spawnServer(settings, {
        plugins: ['smart', 'cluster'],
        settings: { cluster: { role }, smart: secrets },
        isEarly: true,
      })
    const health = async ({ base }: SpawnedServer) => {
      const answer = await fetch(`${base}/healthz`)
      return [answer.status, ((await answer.json()) as { role: string }).role]
    }
    const first = await start('primary')
    await whenReady(first, TAKEOVER_MS)
    const second = await start('standby')
    await whenWaiting(second)
    assert.equal(await health(first), [200, 'primary'])
    assert.equal(await health(second), [503, 'standby'])
    await first.kill()
    await whenReady(second, TAKEOVER_MS)
    assert.equal(await health(second), [200, 'primary'])
    await second.kill()
    await remove()
  })

test.run()
