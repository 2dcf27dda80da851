/** The server that writes dies, again and again, and another one that waits takes over: one trail, no fork, nothing acknowledged missing. */
// database: postgres, which is what several servers share
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { chosenKind } from '../../support/database-kinds.ts'
import { namedPlugins } from '../../support/named-plugins.ts'
import { type SpawnedServer, spawnServer } from '../../support/spawn-server.ts'
import { until } from '../../support/until.ts'
import { KEY } from './audited.ts'

const ROUNDS = 4 // `npm run check:cluster -- kills` has two hundred
const TAKEOVER_MS = 10_000
const WRITES_MS = 60_000 // for a start, and for the writes of a round, on a busy machine
const WRITERS = 8
const EACH_ROUND = 40 // acknowledged changes before a server dies

interface Event {
  readonly entity: readonly {
    readonly role?: { readonly code: string }
    readonly what?: { readonly reference: string }
  }[]
}

const started: SpawnedServer[] = []
test.after(async () => void (await Promise.all(started.map((server) => server.kill()))))

test(`over ${ROUNDS} failovers to a server that waits the trail has every change that was acknowledged, in one chain`, async () => {
  const { settings, remove } = await chosenKind.fresh(await namedPlugins(['audit']))
  const start = async () => {
    const server = await spawnServer(settings, { plugins: ['audit'], settings: { audit: { key: KEY } }, isEarly: true })
    started.push(server)
    return server
  }
  const ready = async ({ base }: SpawnedServer) => (await fetch(`${base}/readyz`)).status === 200
  let serving: SpawnedServer = await start()
  await until(() => ready(serving), WRITES_MS, 'the first server')
  let standby: SpawnedServer = await start()
  const known = new Set<string>()
  /** Status of an answer that acknowledged nothing → how often it came. */
  const refused = new Map<number, number>()
  let isOver = false
  /**
   * Resolved while writers write. One that was refused, or whose server is gone, asks the other one once more, and then waits
   * until that has taken over and a third one waits: asking all the time takes the CPU of whoever takes over.
   */
  let open = Promise.withResolvers<void>()

  const write = async (): Promise<void> => {
    for (let misses = 0; !isOver; ) {
      if (misses > 1) {
        await open.promise
        misses = 0
        continue
      }
      const { base } = serving
      try {
        const answer = await fetch(`${base}/Patient`, {
          method: 'POST',
          headers: { 'content-type': 'application/fhir+json' },
          body: '{"resourceType":"Patient","active":true}',
        })
        const body = (await answer.json()) as { id: string }
        if (answer.status === 201) known.add(`Patient/${body.id}/_history/1`)
        else {
          refused.set(answer.status, (refused.get(answer.status) ?? 0) + 1)
          misses += 1
        }
      } catch {
        misses += 1 // Its server died: on to the other one.
      }
    }
  }
  const writers = Array.from({ length: WRITERS }, write)
  for (let round = 1; round <= ROUNDS; round += 1) {
    open.resolve()
    const enough = known.size + EACH_ROUND
    await until(() => known.size >= enough, WRITES_MS, 'acknowledged changes')
    open = Promise.withResolvers()
    const dying = serving
    serving = standby
    await dying.kill()
    await until(() => ready(serving), TAKEOVER_MS, 'the takeover')
    standby = await start()
  }
  isOver = true
  open.resolve()
  await Promise.all(writers)

  const verdict = (await (await fetch(`${serving.base}/_audit/verify`)).json()) as { ok: boolean; checked: number }
  assert.is(verdict.ok, true, JSON.stringify(verdict))
  const lines = await (await fetch(`${serving.base}/_audit?action=C&outcome=0&_format=ndjson`)).text()
  const told = lines
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as Event).entity.find(({ role }) => role?.code === '4')?.what?.reference)
  const distinct = new Set(told)
  assert.is(distinct.size, told.length, 'each change is told once')
  for (const one of known) assert.ok(distinct.has(one), `${one} was acknowledged`)
  assert.ok(known.size >= ROUNDS * EACH_ROUND)
  // While nobody has the lease, nothing but that is answered.
  assert.equal(
    [...refused.keys()].filter((status) => status !== 503),
    [],
  )
  await Promise.all([serving.kill(), standby.kill()])
  await remove()
})

test.run()
