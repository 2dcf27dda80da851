/** SIGKILL during writes: what was acknowledged is there, a transaction is whole or not, no version is missing. KILLS=100 kills more often. */
// database: sqlite, the file is what is killed over
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { temporaryFolder } from '../support/database-kinds.ts'
import { createHttpClient, type HttpClient } from '../support/http-client.ts'
import { onCopy } from '../support/on-copy.ts'
import { spawnServer } from '../support/spawn-server.ts'

const ROUNDS = Number(process.env.KILLS ?? 4)
const WRITERS = 8
const folder = temporaryFolder()
test.after(() => folder.remove())

const send = (client: HttpClient, method: string, url: string, body: object) =>
  client.send(method, url, { headers: { 'content-type': 'application/fhir+json' }, body: JSON.stringify(body) })

interface Acknowledged {
  readonly created: Set<string>
  /** Id of a resource that is updated over and over → its newest acknowledged version. */
  readonly versions: Map<string, number>
  /** What was sent as one transaction → whether that was acknowledged. */
  readonly transactions: Map<readonly string[], boolean>
}

/** Three resources in one transaction. */
const transact = async (client: HttpClient, name: string, known: Acknowledged): Promise<void> => {
  const ids = [1, 2, 3].map((n) => `${name}-${n}`)
  known.transactions.set(ids, false)
  const entry = ids.map((id) => ({
    resource: { resourceType: 'Basic', id },
    request: { method: 'PUT', url: `Basic/${id}` },
  }))
  const { status } = await send(client, 'POST', '/', { resourceType: 'Bundle', type: 'transaction', entry })
  known.transactions.set(ids, status === 200)
}

/** Writes until the server is gone; notes only what was acknowledged. */
const write = async (
  client: HttpClient,
  writer: number,
  known: Acknowledged,
  onAcknowledged: () => void,
): Promise<void> => {
  for (let round = 0; ; round += 1) {
    try {
      const created = await send(client, 'POST', '/Patient', { resourceType: 'Patient', active: true })
      if (created.status === 201) known.created.add((JSON.parse(created.text) as { id: string }).id)
      const id = `w${writer}`
      const updated = await send(client, 'PUT', `/Basic/${id}`, {
        resourceType: 'Basic',
        id,
        code: { text: `${Math.random()}` },
      })
      const { meta } = JSON.parse(updated.text) as { meta: { versionId: string } }
      if (updated.status < 300) known.versions.set(id, Number(meta.versionId))
      await transact(client, `t${writer}-${known.transactions.size}-${round}`, known)
      onAcknowledged()
    } catch {
      return
    }
  }
}

const checkCopy = (path: string, known: Acknowledged, fresh: readonly string[]): Promise<void> =>
  onCopy(path, async (base) => {
    const client = createHttpClient(base)
    await check(client, known, fresh)
    client.close()
  })

const check = async (client: HttpClient, known: Acknowledged, fresh: readonly string[]): Promise<void> => {
  const statusOf = async (url: string): Promise<number> => (await client.send('GET', url)).status
  for (const id of fresh) assert.is(await statusOf(`/Patient/${id}`), 200, `acknowledged Patient/${id}`)
  for (const [ids, isAcknowledged] of known.transactions) {
    const found = await Promise.all(ids.map((id) => statusOf(`/Basic/${id}`)))
    const whole = found.every((status) => status === 200)
    assert.ok(whole || found.every((status) => status === 404), `${ids[0]} is stored in part: ${found}`)
    assert.ok(whole || !isAcknowledged, `${ids[0]} was acknowledged`)
  }
  known.transactions.clear()
  for (const [id, version] of known.versions) {
    const bundle = JSON.parse((await client.send('GET', `/Basic/${id}/_history?_count=10000`)).text) as {
      total: number
      entry: { resource: { meta: { versionId: string } } }[]
    }
    const numbers = bundle.entry.map(({ resource }) => Number(resource.meta.versionId))
    assert.ok(bundle.total >= version, `Basic/${id} has version ${bundle.total}, ${version} was acknowledged`)
    assert.equal(
      numbers,
      Array.from({ length: Math.min(bundle.total, 1000) }, (_, n) => bundle.total - n),
    )
  }
}

test(`killed ${ROUNDS} times during concurrent writes, the server loses nothing it acknowledged`, async () => {
  const path = join(folder.path, 'kill.sqlite')
  const known: Acknowledged = { created: new Set(), versions: new Map(), transactions: new Map() }
  for (let round = 0; round < ROUNDS; round += 1) {
    const server = await spawnServer(path)
    const client = createHttpClient(server.base)
    const before = new Set(known.created)
    let acknowledged = 0
    // A different moment in each round, in the middle of whatever the other writers are doing.
    const enough = 20 + ((round * 37) % 100)
    const writers = Array.from({ length: WRITERS }, (_, writer) =>
      write(client, writer, known, () => {
        acknowledged += 1
        if (acknowledged === enough) void server.kill()
      }),
    )
    await Promise.all(writers)
    client.close()
    assert.ok(acknowledged >= enough, `round ${round} wrote ${acknowledged} times`)
    const fresh = [...known.created].filter((id) => !before.has(id))
    await checkCopy(path, known, round + 1 < ROUNDS ? fresh : [...known.created])
  }
})

test.run()
