/** examples/deploy: three processes behind a balancer, by the rules of its nginx.conf. With nginx too, where it is installed. */
// database: postgres, the one kind that several processes share
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { DeployFront } from '../../support/deploy-front.ts'
import { nginxPath, startNginx } from '../../support/nginx.ts'
import { startOwnFront } from '../../support/own-front.ts'
import {
  freshWith,
  type Json,
  primaryHere,
  reasonOf,
  replicaHere,
  send,
  startPrimary,
  whenSays,
} from '../../support/replica-servers.ts'
import type { ServerHere } from '../../support/serve-here.ts'
import type { SpawnedServer } from '../../support/spawn-server.ts'
import { openSync } from '../../support/sync-client.ts'
import { until } from '../../support/until.ts'

const AGAIN_MS = 10_000 // allowed between SIGKILL and the next change
const PAIRS = 10 // of each client
const CLIENTS = 4
const WAITING = 'waiting for the writer lease'
const plugins = ['audit', 'sync']
const settings = {
  server: { bind: '127.0.0.1:0', trusted_proxy_hops: 1, trusted_proxy_peers: ['127.0.0.0/8'] },
}

const patient = (id: string, family: string): Json => ({ resourceType: 'Patient', id, name: [{ family }] })

interface Deployment {
  readonly front: DeployFront
  readonly primary: SpawnedServer
  readonly standby: ServerHere
  /** Starts the one that was the primary again, at its address. */
  startAgain(): Promise<ServerHere>
  /** What the client of the front gets. */
  ask(method: string, path: string, body?: Json, more?: Record<string, string | null>): ReturnType<typeof send>
  stop(): Promise<void>
}

/** The primary is a process of its own, and can be killed. */
const deploy = async (startFront: () => Promise<DeployFront>): Promise<Deployment> => {
  const fresh = await freshWith(plugins)
  const front = await startFront()
  const served: ServerHere[] = []
  const keep = async (starting: Promise<ServerHere>): Promise<ServerHere> => {
    const server = await starting
    served.push(server)
    return server
  }
  const primary = await startPrimary(fresh, { plugins, settings })
  const inRole = (role: string, bind = '127.0.0.1:0') => ({
    plugins,
    settings: { server: { ...settings.server, bind }, cluster: { role } },
    isEarly: true,
  })
  const standby = await keep(primaryHere(fresh, inRole('standby')))
  const replica = await keep(replicaHere(fresh, front.primaryUrl, { plugins, settings }))
  await whenSays(standby, WAITING)
  await front.begin({ writers: [primary.base, standby.base], reader: replica.base })
  return {
    ...{ front, primary, standby },
    startAgain: () => keep(primaryHere(fresh, inRole('primary', new URL(primary.base).host))),
    ask: (method, path, body, more) => send({ base: front.address }, method, path, body, more),
    async stop() {
      await primary.kill()
      for (const server of served.reverse()) await server.stop()
      await front.stop()
      await fresh.remove()
    },
  }
}

/** The events of POST /sync, as they come. */
const stream = async (base: string, query: string) => {
  const leave = new AbortController()
  const answer = await fetch(`${base}/sync`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify({ queries: [{ id: 'q', query }] }),
    signal: leave.signal,
  })
  assert.is(answer.status, 200)
  const messages: Json[] = []
  const reading = (async () => {
    let text = ''
    for await (const chunk of answer.body as ReadableStream<Uint8Array>) {
      text += Buffer.from(chunk).toString()
      const whole = text.split('\n\n')
      text = whole.pop() as string
      for (const event of whole) {
        const [, data] = /^data: (.*)$/m.exec(event) ?? []
        if (data !== undefined) messages.push(JSON.parse(data) as Json)
      }
    }
  })().catch(() => undefined)
  const has = (isMeant: (message: Json) => boolean): Promise<void> =>
    until(() => messages.some(isMeant), AGAIN_MS, `a message among ${JSON.stringify(messages.slice(-3))}`)
  return {
    has,
    async leave() {
      leave.abort()
      await reading
    },
  }
}

const isFromReplica = ({ snapshot }: { readonly snapshot: string | null }): boolean => snapshot !== null

for (const [name, start] of [
  ['the rules of nginx.conf in this process', startOwnFront],
  ...(nginxPath === undefined ? [] : [['nginx', () => startNginx(nginxPath as string)] as const]),
] as const)
  test(`${name}: changes go to the primary, reads to the replica, and live queries stream; after a kill changes work again`, async () => {
    const { front, primary, standby, startAgain, ask, stop } = await deploy(start)
    try {
      const made = await ask('PUT', '/Patient/a', patient('a', 'one'), { 'x-forwarded-for': '203.0.113.9' })
      assert.is(made.status, 201, made.text)
      const read = await ask('GET', '/Patient/a', undefined, { 'x-snapshot': made.snapshot })
      assert.equal([read.status, read.json.meta?.versionId], [200, '1'])
      // Without X-Snapshot in the request only a replica sends its own.
      for (const path of ['/Patient/a', '/Patient?_id=a', '/metadata'])
        assert.ok(isFromReplica(await ask('GET', path)), path)
      const found = await ask('POST', '/Patient/_search?_id=a')
      assert.ok(found.status === 200 && isFromReplica(found), found.text)
      const events = await ask('GET', '/_audit?entity=Patient/a')
      const agents = ((events.json.entry ?? []) as Json[]).flatMap(({ resource }) => resource.agent as Json[])
      const addresses = agents.flatMap(({ network }) => (network?.address as string | undefined) ?? [])
      assert.equal([...new Set(addresses)], ['127.0.0.1'], 'what a client writes into X-Forwarded-For is not believed')

      let stale = 0
      const client = async (own: number): Promise<void> => {
        for (let n = 0; n < PAIRS; n += 1) {
          const id = `c${own}-${n % 5}`
          const written = await ask('PUT', `/Patient/${id}`, patient(id, `n${n}`))
          assert.ok(written.status < 300, written.text)
          const seen = await ask('GET', `/Patient/${id}`, undefined, { 'x-snapshot': written.snapshot })
          if (seen.json.name?.[0].family !== `n${n}`) stale += 1
        }
      }
      await Promise.all(Array.from({ length: CLIENTS }, (_, own) => client(own)))
      assert.is(stale, 0)

      const live = await stream(front.address, 'Patient')
      await live.has(({ op }) => op === 'ready')
      const socket = await openSync(front.address)
      await socket.subscribe('s', 'Patient')
      await ask('PUT', '/Patient/live', patient('live', 'x'))
      await live.has(({ op, reference }) => op === 'delta' && reference === 'Patient/live')
      await socket.next(({ op, reference }) => op === 'delta' && reference === 'Patient/live')
      await live.leave()

      await primary.kill()
      const gone = performance.now()
      let after = await ask('PUT', '/Patient/a', patient('a', 'two'))
      const isTaken = async (): Promise<boolean> => {
        if (after.status === 200) return true
        assert.is(after.status, 503, after.text)
        assert.is(after.json.resourceType, 'OperationOutcome', after.text)
        const meanwhile = await ask('GET', '/Patient/a')
        assert.is(meanwhile.status, 200, meanwhile.text)
        after = await ask('PUT', '/Patient/a', patient('a', 'two'))
        return after.status === 200
      }
      await until(isTaken, AGAIN_MS, 'a change')
      assert.ok(performance.now() - gone < AGAIN_MS)
      assert.is(await reasonOf(standby), 'ok')
      const own = await ask('GET', '/Patient/a', undefined, { 'x-snapshot': after.snapshot })
      assert.is(own.json.name[0].family, 'two')
      await until(() => socket.closed !== undefined, AGAIN_MS, 'the live queries of the killed primary to end')
      const again = await openSync(front.address)
      await again.subscribe('s', 'Patient')
      assert.ok(again.sets.get('s')?.has('Patient/live'))
      await again.close()

      // It waits for the lease, is listed first in the configuration, and gets no requests.
      await whenSays(await startAgain(), WAITING)
      for (let n = 0; n < 20; n += 1) {
        const written = await ask('PUT', `/Patient/w${n}`, patient(`w${n}`, 'x'))
        assert.is(written.status, 201, written.text)
      }
    } finally {
      await stop()
    }
  })

test('with no server that takes changes, a change is 503 with an OperationOutcome, and reads go on', async () => {
  const { primary, standby, ask, stop } = await deploy(startOwnFront)
  try {
    await ask('PUT', '/Patient/a', patient('a', 'one'))
    await Promise.all([primary.kill(), standby.stop()])
    const refused = await ask('PUT', '/Patient/a', patient('a', 'two'))
    assert.equal([refused.status, refused.json.resourceType], [503, 'OperationOutcome'])
    assert.is((await ask('GET', '/Patient/a')).status, 200)
  } finally {
    await stop()
  }
})

test.run()
