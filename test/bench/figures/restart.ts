/** Figure S: from the start of the process to ready, and memory at rest. */
import type { Bench, Figure } from '../bench.ts'
import { load, toGet } from '../client.ts'
import { median, spreadOf } from '../compare.ts'
import { createDice } from '../corpus/random.ts'
import { makeBodies, seed, seedPeople } from '../corpus/seed.ts'
import { createPlace, type House, type Place, startHouse } from '../house.ts'
import { megabytes, millis } from '../table.ts'

const READY_MS = 1_000
const REST_BYTES = 150 * 1024 * 1024
const REST_MS = 3_000 // after ready, until nothing of the start is under way any more

const checkReady = async ({ address }: House): Promise<void> => {
  const { status } = await fetch(`${address}/readyz`)
  if (status !== 200) throw new Error(`/readyz answers ${status} after the start`)
}

const fill = async (place: Place, bench: Bench, count: number): Promise<void> => {
  const house = await startHouse(bench, place)
  try {
    if (count === 0) return
    const dice = createDice(4)
    const people = await seedPeople(house.address, dice, Math.max(1, Math.floor(count / 40)))
    await seed(house.address, makeBodies(dice, people, count))
  } finally {
    await house.stop()
  }
}

const rest = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, REST_MS))

export const restart: Figure = {
  name: 'restart',
  description: 'start of the process to ready, with the package installed: empty, and with --resources stored',
  async run(bench) {
    for (const count of [0, bench.resources]) {
      const place = createPlace()
      try {
        bench.say(`a database of ${count} resources`)
        await fill(place, bench, count)
        const took: number[] = []
        for (let n = 0; n < bench.rounds; n += 1) {
          const startedAt = performance.now()
          const house = await startHouse(bench, place)
          await checkReady(house)
          took.push(performance.now() - startedAt)
          await house.stop()
        }
        const { least, most } = spreadOf(took)
        bench.report({
          figure: `S restart, ${count} resources`,
          required: `≤ ${millis(READY_MS)}`,
          measured: millis(median(took)),
          spread: `${millis(least)} … ${millis(most)}`,
          ok: median(took) <= READY_MS,
          beside: `the process itself included; file ${megabytes(place.size())}`,
        })
      } finally {
        place.remove()
      }
    }
  },
}

export const memory: Figure = {
  name: 'memory',
  description: 'resident memory at rest after a restart, and after load',
  async run(bench) {
    const place = createPlace()
    try {
      await fill(place, bench, 0)
      const house = await startHouse(bench, place)
      try {
        await checkReady(house)
        await rest()
        const { rss } = await house.cpu()
        bench.report({
          figure: 'S memory at rest',
          required: `≤ ${megabytes(REST_BYTES)}`,
          measured: megabytes(rss),
          spread: '',
          ok: rss <= REST_BYTES,
          beside: `resident, ${REST_MS / 1000} s after ready`,
        })
        await reportLoaded(bench, house)
      } finally {
        await house.stop()
      }
    } finally {
      place.remove()
    }
  },
}

const reportLoaded = async (bench: Bench, house: House): Promise<void> => {
  bench.say('load, then rest')
  const dice = createDice(5)
  const people = await seedPeople(house.address, dice, 100)
  const { references } = await seed(house.address, makeBodies(dice, people, 10_000))
  const next = () => toGet(house.address, `/${dice.pick(references)}`)
  await load({ address: house.address, connections: 16, next, seconds: bench.seconds })
  await rest()
  const { rss } = await house.cpu()
  bench.report({
    figure: 'S memory after load',
    required: '-',
    measured: megabytes(rss),
    spread: '',
    ok: undefined,
    beside: `${references.length} creates and ${bench.seconds} s of reads before`,
  })
}
