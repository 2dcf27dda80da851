/**
 * Verification of the audit trail beside creates: its pace, what it takes of memory, and what it does to the slow ones
 * among the creates. `--resources 1000000` for the length that the design asks for.
 */
import { randomUUID } from 'node:crypto'
import { createKernel, systemClock } from '../../../kernel/index.ts'
import { createBlockWriter } from '../../../plugins/audit/blocks/block-writer.ts'
import { createKeyRing } from '../../../plugins/audit/chain/key.ts'
import type { TrailEvent } from '../../../plugins/audit/event.ts'
import audit from '../../../plugins/audit/index.ts'
import { createTrail } from '../../../plugins/audit/trail/trail.ts'
import type { Verdict } from '../../../plugins/audit/verify/walk.ts'
import database from '../../../plugins/database/index.ts'
import { Database } from '../../../plugins/database/service.ts'
import type { Bench, Figure } from '../bench.ts'
import { type LoadResult, load, toSend } from '../client.ts'
import { median } from '../compare.ts'
import { createDice } from '../corpus/random.ts'
import { makeBodies, seedPeople } from '../corpus/seed.ts'
import { createPlace, type House, startHouse } from '../house.ts'
import { millis, rate, times } from '../table.ts'

const KEY = 'a key of the chain for benches'
const BATCH = 1_000 // events of one transaction
const PEOPLE = 1_000
const MEGABYTE = 1024 * 1024
const SAMPLE_MS = 50

/** Fills the trail with events of reads. */
const fill = async (sqlitePath: string, count: number): Promise<void> => {
  const settings = { database: { kind: 'sqlite', sqlite_path: sqlitePath }, audit: { key: KEY } }
  const kernel = await createKernel({ plugins: [database, audit], settings, log: { level: 'silent' } })
  await kernel.start()
  const parts = { database: kernel.get(Database), clock: systemClock, log: kernel.log }
  const trail = createTrail({ ...parts, keys: createKeyRing(KEY, []), blocks: createBlockWriter(parts) })
  const patients = Array.from({ length: PEOPLE }, () => `Patient/${randomUUID()}`)
  const toEvent = (at: number): TrailEvent => ({
    at: Date.now(),
    kind: 'read',
    status: 200,
    type: 'Observation',
    id: randomUUID(),
    version: 1,
    details: { patients: () => [patients[at % PEOPLE] as string] },
    address: '127.0.0.1',
    request: randomUUID(),
  })
  for (let done = 0; done < count; done += BATCH)
    await trail.write(
      Array.from({ length: Math.min(BATCH, count - done) }, (_, at) => toEvent(at)),
      { asynchronousCommit: true },
    )
  await kernel.stop()
}

interface Verified {
  readonly verdict: Verdict
  readonly seconds: number
  /** Most resident bytes while it ran. */
  readonly rss: number
}

const verify = async (house: House): Promise<Verified> => {
  let rss = 0
  const sampler = setInterval(async () => {
    rss = Math.max(rss, (await house.cpu()).rss)
  }, SAMPLE_MS)
  const started = performance.now()
  const answer = await fetch(`${house.address}/_audit/verify`)
  const verdict = (await answer.json()) as Verdict
  const seconds = (performance.now() - started) / 1000
  clearInterval(sampler)
  if (!verdict.ok) throw new Error(`the trail is broken: ${JSON.stringify(verdict)}`)
  return { verdict, seconds, rss }
}

const run = async (bench: Bench): Promise<void> => {
  const place = createPlace()
  try {
    bench.say(`filling the trail with ${bench.resources} events`)
    await fill(place.sqlitePath, bench.resources)
    const settings = { audit: { key: KEY } }
    const house = await startHouse(bench, place, { settings, unbound: true })
    try {
      const dice = createDice(9)
      const people = await seedPeople(house.address, dice, 50)
      const bodies = makeBodies(dice, people, 1_000)
      const requests = bodies.map(({ type, text }) => toSend(house.address, 'POST', `/${type}`, text))
      let at = 0
      const next = (): Buffer => requests[at++ % requests.length] as Buffer
      const creates = (seconds: number): Promise<LoadResult> =>
        load({ address: house.address, connections: 4, next, seconds })
      await creates(1)
      const rates: number[] = []
      const grown: number[] = []
      const ratios: number[] = []
      for (let round = 0; round < bench.rounds; round += 1) {
        bench.say('creating alone, verifying alone, then both')
        const alone = await creates(bench.seconds)
        const before = (await house.cpu()).rss
        const { verdict, seconds, rss } = await verify(house)
        rates.push(verdict.checked / seconds)
        grown.push((rss - before) / MEGABYTE)
        let isOver = false
        const verifying = (async () => {
          while (!isOver) await verify(house)
        })()
        const both = await creates(bench.seconds)
        isOver = true
        await verifying
        ratios.push(both.at(0.99) / alone.at(0.99))
        bench.say(`p99 of a create ${millis(alone.at(0.99))} alone, ${millis(both.at(0.99))} beside a verification`)
      }
      const line = (
        figure: string,
        required: string,
        values: readonly number[],
        show: (one: number) => string,
        ok: boolean,
      ) =>
        bench.report({
          figure,
          required,
          measured: show(median(values)),
          spread: `${show(Math.min(...values))} … ${show(Math.max(...values))}`,
          ok,
          beside: `${bench.resources} events`,
        })
      line('U12 verify, rows a second', '≥ 50000', rates, rate, median(rates) >= 50_000)
      line('U12 verify, memory', '< 100 MB', grown, (one) => `${one.toFixed(0)} MB`, median(grown) < 100)
      line('U12 create p99 beside it', '< 2x', ratios, times, median(ratios) < 2)
    } finally {
      await house.stop()
    }
  } finally {
    place.remove()
  }
}

export const verification: Figure = {
  name: 'verify',
  description: 'verification of the audit trail: rows a second, memory, and the p99 of creates beside it',
  run,
}
