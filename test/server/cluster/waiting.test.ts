/** Of several servers on one database one writes; the others listen, wait for the writer lease and take it over. Spec: Cluster behavior. */
// database: sqlite, because it starts servers on SQLite and on PostgreSQL itself
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type FreshDatabase, postgresKind, sqliteKind } from '../../support/database-kinds.ts'
import { serveHere } from '../../support/serve-here.ts'
import { type SpawnedServer, spawnServer } from '../../support/spawn-server.ts'
import { until } from '../../support/until.ts'

const TAKEOVER_MS = 10_000 // allowed after SIGKILL
const HANDOVER_MS = 1_500 // one second is asked for; the rest is this machine's

type Base = Pick<SpawnedServer, 'base'>
const create = (server: Base): Promise<Response> =>
  fetch(`${server.base}/Patient`, {
    method: 'POST',
    headers: { 'content-type': 'application/fhir+json' },
    body: '{"resourceType":"Patient","name":[{"text":"Quince"}]}',
  })
const idOf = async (answer: Response): Promise<string> => {
  assert.is(answer.status, 201)
  return ((await answer.json()) as { id: string }).id
}
const ready = async (server: Base): Promise<boolean> => (await fetch(`${server.base}/readyz`)).status === 200
const whenReady = async (server: Base, ms: number): Promise<number> => {
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
const whenWaiting = (server: Base): Promise<void> =>
  until(
    async () =>
      ((await (await fetch(`${server.base}/readyz`)).json()) as { reason?: string }).reason ===
      'waiting for the writer lease',
    TAKEOVER_MS,
    'the second server to wait',
  )

const health = async ({ base }: Base): Promise<readonly [status: number, role: string]> => {
  const answer = await fetch(`${base}/healthz`)
  return [answer.status, ((await answer.json()) as { role: string }).role]
}
const PLUGINS = ['audit', 'smart', 'cluster']
const started: SpawnedServer[] = []
test.after(async () => void (await Promise.all(started.map((server) => server.kill()))))
const SECRETS = { dcr_token: 'd'.repeat(32), confidential_secret: 'c'.repeat(32) }

for (const kind of [sqliteKind, postgresKind]) {
  let fresh: FreshDatabase
  const start = async (role: string): Promise<SpawnedServer> => {
    const settings = { cluster: { role }, smart: SECRETS }
    const server = await spawnServer(fresh.settings, { plugins: PLUGINS, settings, isEarly: true })
    started.push(server)
    return server
  }
  /** The server that writes, and those that wait. Each test leaves them to the next one. */
  let holder: SpawnedServer
  let others: SpawnedServer[] = []
  const ids: string[] = []
  /** Waits until one of the others has taken over, and makes it the holder. Resolves to the milliseconds it took. */
  const nextHolder = async (ms: number): Promise<number> => {
    const from = performance.now()
    await until(async () => (await Promise.all(others.map(ready))).includes(true), ms, 'one to be ready')
    const took = performance.now() - from
    const states = await Promise.all(others.map(ready))
    assert.is(states.filter((one) => one).length, 1)
    holder = others.splice(states.indexOf(true), 1)[0] as SpawnedServer
    return took
  }

  test(`${kind.name}: of three that start at once one writes, and the others wait`, async () => {
    fresh = await kind.fresh()
    others = await Promise.all(['standby', 'standby', 'standby'].map(start))
    await nextHolder(TAKEOVER_MS)
    ids.push(await idOf(await create(holder)))
    await Promise.all(others.map(whenWaiting))
    for (const other of others) await checkWaits(other)
  })

  test(`${kind.name}: a standby tells its role, answers 503 to a balancer, and is the primary once it has taken over`, async () => {
    assert.equal(await health(holder), [200, 'primary'])
    for (const other of others) assert.equal(await health(other), [503, 'standby'])
  })

  test(`${kind.name}: a second server takes over when the first one is killed, with all it acknowledged, and a third one waits on`, async () => {
    for (let n = 0; n < 10; n += 1) ids.push(await idOf(await create(holder)))
    await holder.kill()
    const took = await nextHolder(TAKEOVER_MS)
    assert.ok(took < TAKEOVER_MS, `${took} ms`)
    assert.equal(await health(holder), [200, 'primary'])
    for (const id of ids) assert.is((await fetch(`${holder.base}/Patient/${id}`)).status, 200)
    ids.push(await idOf(await create(holder)))
    const found = (await (await fetch(`${holder.base}/Patient?_content=quince`)).json()) as { total: number }
    assert.is(found.total, ids.length, 'the words of both servers')
    const verdict = (await (await fetch(`${holder.base}/_audit/verify`)).json()) as { ok: boolean }
    assert.is(verdict.ok, true)
    for (const other of others) assert.is((await create(other)).status, 503)
  })

  test(`${kind.name}: SIGTERM hands over within a second, and ends one that waits at once`, async () => {
    const [second] = others as [SpawnedServer]
    // It gets no signal.
    const third = await serveHere(fresh.settings, {
      plugins: PLUGINS,
      settings: { cluster: { role: 'primary' }, smart: SECRETS },
      isEarly: true,
    })
    await Promise.all([whenWaiting(second), whenWaiting(third)])
    const asked = performance.now()
    assert.is(await second.end('SIGTERM'), 0)
    assert.ok(performance.now() - asked < HANDOVER_MS)
    const id = await idOf(await create(holder))
    const ended = holder.end('SIGTERM')
    await whenReady(third, HANDOVER_MS + 1_000)
    assert.is(await ended, 0)
    assert.equal(await health(third), [200, 'primary'])
    assert.is((await fetch(`${third.base}/Patient/${id}`)).status, 200)
    await idOf(await create(third))
    await third.stop()
    await fresh.remove()
  })
}

test.run()
