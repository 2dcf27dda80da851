/** Servers that are killed while notifications wait: none is lost, and a number always names the same version. */
// database: sqlite, because it starts servers on SQLite and on PostgreSQL itself
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { postgresKind, sqliteKind } from '../../support/database-kinds.ts'
import { startHookReceiver } from '../../support/hook-receiver.ts'
import { namedPlugins } from '../../support/named-plugins.ts'
import { type ServerHere, serveHere } from '../../support/serve-here.ts'
import { type SpawnedServer, spawnServer } from '../../support/spawn-server.ts'
import { until } from '../../support/until.ts'
import { type Json, patient, subscription } from './subscription-clinic.ts'

const PLUGINS = ['subscription-definitions', 'subscriptions']
const ROUNDS = 3 // the receiver refuses in the one in the middle
const EACH = 15
const WAIT_MS = 60_000

const put = async ({ base }: Pick<SpawnedServer, 'base'>, resource: Json): Promise<boolean> => {
  try {
    const answer = await fetch(`${base}/${resource.resourceType}/${resource.id}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/fhir+json' },
      body: JSON.stringify(resource),
    })
    await answer.text()
    return answer.ok
  } catch {
    return false
  }
}

for (const kind of [sqliteKind, postgresKind])
  test(`${kind.name}: killed with changes under way, every change that was answered is notified, in order`, async () => {
    const { settings, remove } = await kind.migrated(await namedPlugins(PLUGINS))
    const receiver = await startHookReceiver()
    const options = (isEarly: boolean) => ({
      plugins: PLUGINS,
      settings: { subscriptions: { rest_hook_hosts: [receiver.host] } },
      isEarly,
    })
    const start = (isEarly = false): Promise<SpawnedServer> => spawnServer(settings, options(isEarly))
    /** The last one, which is not killed. */
    let last: ServerHere | undefined
    const startLast = async (isEarly = false): Promise<void> => {
      last = await serveHere(settings, options(isEarly))
    }
    let server = await start()
    const current = (): Pick<SpawnedServer, 'base'> => last ?? server
    const isReady = async (): Promise<boolean> => (await fetch(`${current().base}/readyz`)).ok
    const channel = { type: 'rest-hook', endpoint: `http://${receiver.host}/k`, payload: 'application/fhir+json' }
    assert.ok(await put(server, subscription('k', 'Patient', channel)))
    await until(
      async () => (await (await fetch(`${server.base}/Subscription/k`)).text()).includes('"active"'),
      WAIT_MS,
      'the Subscription',
    )
    const answered: string[] = []
    for (let round = 0; round < ROUNDS; round += 1) {
      if (round === 1) receiver.answer = { status: 503 }
      if (round === 2) receiver.answer = { status: 200 }
      for (let n = 0; n < EACH; n += 1) {
        const id = `r${round}-${n}`
        if (await put(server, patient(id))) answered.push(id)
      }
      // One more is under way.
      const late = put(server, patient(`r${round}-x`))
      const isLast = round === ROUNDS - 1
      const isBeside = kind === postgresKind // and waits for the lease
      if (isBeside && isLast) await startLast(true)
      const next = isBeside && !isLast ? await start(true) : undefined
      await server.kill()
      await late
      if (!isBeside && isLast) await startLast()
      if (!isLast) server = next ?? (await start())
      await until(isReady, WAIT_MS, 'the next server')
    }
    const numbers = new Map<number, string>()
    const has = (id: string): boolean => [...numbers.values()].includes(id)
    await until(
      () => {
        for (const { number, url } of receiver.taken) {
          const id = url.split('/').at(-1) as string
          assert.is(numbers.get(number) ?? id, id, 'a number that names two versions')
          numbers.set(number, id)
        }
        return answered.every(has)
      },
      WAIT_MS,
      'all notifications',
    )
    assert.equal(
      [...numbers.keys()],
      Array.from({ length: numbers.size }, (_, at) => at + 1),
    )
    assert.is(new Set(numbers.values()).size, numbers.size)
    const inOrder = [...numbers.values()].filter((id) => answered.includes(id))
    assert.equal(inOrder, answered)
    await last?.stop()
    await receiver.close()
    await remove()
  })

test.run()
