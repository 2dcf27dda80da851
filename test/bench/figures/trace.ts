/** Figure E: what `features.trace_engine` costs while it is off: CPU of reads and searches, beside a server without the plugin. */
import type { Bench, Figure } from '../bench.ts'
import { load, toGet } from '../client.ts'
import { compare } from '../compare.ts'
import { createDice } from '../corpus/random.ts'
import { makeBodies, seed, seedPeople } from '../corpus/seed.ts'
import { createPlace, type House, type Place, startHouse } from '../house.ts'
import { measure } from '../measure.ts'
import { both, percent } from '../table.ts'

const CONNECTIONS = 16
const WARM = 30_000
const RESOURCES = 1_000
const MAX_CPU = 1.01 // of a server without the plugin

/** Paths of reads and of searches. */
const fill = async (bench: Bench, place: Place): Promise<Readonly<Record<'read' | 'search', readonly string[]>>> => {
  const house = await startHouse(bench, place)
  try {
    const dice = createDice(1)
    const people = await seedPeople(house.address, dice, 25)
    const { references } = await seed(house.address, makeBodies(dice, people, RESOURCES))
    const reads = references.map((reference) => `/${reference}`)
    return { read: reads, search: reads.map((path) => path.replace(/\/([^/]+)$/, '?_id=$1')) }
  } finally {
    await house.stop()
  }
}

const sideOf = (house: House, paths: readonly string[]) => {
  const dice = createDice(7)
  const requests = paths.map((path) => toGet(house.address, path))
  const options = { address: house.address, connections: CONNECTIONS, next: () => dice.pick(requests) }
  return {
    warm: () => load({ ...options, requests: WARM }),
    run: (seconds: number) => measure(house, { ...options, seconds }),
  }
}

const run = async (bench: Bench): Promise<void> => {
  const places = { off: createPlace(), without: createPlace() }
  bench.say(`creating ${RESOURCES} resources, twice`)
  const paths = { off: await fill(bench, places.off), without: await fill(bench, places.without) }
  const off = await startHouse(bench, places.off)
  const without = await startHouse(bench, places.without, { process: 'untraced' })
  try {
    for (const kind of ['read', 'search'] as const) {
      bench.say(kind)
      const [ours, other] = [sideOf(off, paths.off[kind]), sideOf(without, paths.without[kind])]
      await ours.warm()
      await other.warm()
      const comparison = await compare(
        bench.rounds,
        () => ours.run(bench.seconds),
        () => other.run(bench.seconds),
      )
      const { cpu } = comparison
      bench.report({
        figure: `E ${kind} with trace_engine off, CPU of one without the plugin`,
        required: `≤ ${percent(MAX_CPU)}`,
        measured: percent(cpu.median),
        spread: `${percent(cpu.least)} … ${percent(cpu.most)}`,
        ok: cpu.median <= MAX_CPU,
        beside: both(comparison),
      })
    }
  } finally {
    await without.stop()
    await off.stop()
    places.off.remove()
    places.without.remove()
  }
}

export const tracing: Figure = {
  name: 'trace',
  description: 'reads and searches with trace_engine off, beside a server without the plugin',
  run,
}
