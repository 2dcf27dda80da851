/** Servers of one database die in turn and writers go to the one that is left: one trail, no fork, nothing acknowledged missing. */
// database: postgres, which is what several servers share
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { chosenKind } from '../../support/database-kinds.ts'
import { type SpawnedServer, spawnServer } from '../../support/spawn-server.ts'
import { KEY } from './audited.ts'

const ROUNDS = 20
const WRITERS = 8
const EACH_ROUND = 40 // acknowledged changes before a server dies

interface Event {
  readonly entity: readonly {
    readonly role?: { readonly code: string }
    readonly what?: { readonly reference: string }
  }[]
}

test(`over ${ROUNDS} failovers between two servers the trail has every change that was acknowledged, in one chain`, async () => {
  const { settings, remove } = await chosenKind.fresh()
  const start = () => spawnServer(settings, { plugins: ['audit'], settings: { audit: { key: KEY } } })
  let [serving, standby] = [await start(), await start()] as [SpawnedServer, SpawnedServer]
  const known = new Set<string>()
  /** Status of an answer that acknowledged nothing → how often it came. */
  const refused = new Map<number, number>()
  let isOver = false
  let enough = EACH_ROUND
  let onEnough: () => void = () => undefined

  const write = async (): Promise<void> => {
    while (!isOver) {
      const { base } = serving
      try {
        const answer = await fetch(`${base}/Patient`, {
          method: 'POST',
          headers: { 'content-type': 'application/fhir+json' },
          body: '{"resourceType":"Patient","active":true}',
        })
        const body = (await answer.json()) as { id: string }
        if (answer.status === 201) known.add(`Patient/${body.id}/_history/1`)
        else refused.set(answer.status, (refused.get(answer.status) ?? 0) + 1)
        if (known.size >= enough) onEnough()
      } catch {
        // Its server died: on to the other one.
        await new Promise(setImmediate)
      }
    }
  }
  const writers = Array.from({ length: WRITERS }, write)
  for (let round = 1; round <= ROUNDS; round += 1) {
    await new Promise<void>((resolve) => {
      enough = known.size + EACH_ROUND
      onEnough = resolve
    })
    const dying = serving
    serving = standby
    await dying.kill()
    standby = await start()
  }
  isOver = true
  await Promise.all(writers)

  const verdict = (await (await fetch(`${serving.base}/_audit/verify`)).json()) as { ok: boolean; checked: number }
  assert.is(verdict.ok, true, JSON.stringify(verdict))
  const lines = await (await fetch(`${standby.base}/_audit?action=C&outcome=0&_format=ndjson`)).text()
  const told = lines
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as Event).entity.find(({ role }) => role?.code === '4')?.what?.reference)
  const distinct = new Set(told)
  assert.is(distinct.size, told.length, 'each change is told once')
  for (const one of known) assert.ok(distinct.has(one), `${one} was acknowledged`)
  assert.ok(known.size >= ROUNDS * EACH_ROUND)
  // The server that is left has nothing to refuse: what fails with the other one fails with its connection.
  assert.equal(Object.fromEntries(refused), {})
  await Promise.all([serving.kill(), standby.kill()])
  await remove()
})

test.run()
