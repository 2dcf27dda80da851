/** Figures 1 and 2: reads by id against bare Fastify that sends the same bytes and headers. */
import type { Bench, Figure } from '../bench.ts'
import { load, toGet } from '../client.ts'
import { type Comparison, compare } from '../compare.ts'
import { createDice } from '../corpus/random.ts'
import { makeBodies, seed, seedPeople } from '../corpus/seed.ts'
import { createPlace, type House, type Place, startHouse } from '../house.ts'
import { measure, profile } from '../measure.ts'
import type { Settings } from '../plugins.ts'
import { both, percent } from '../table.ts'
import { startBareReads } from './bare.ts'

const CONNECTIONS = 16
const WARM = 60_000 // requests of each side before it is measured: by then it is compiled, however fast the machine is

const reportReads = (bench: Bench, figure: string, required: number, comparison: Comparison, note = ''): void => {
  const { speed } = comparison
  bench.report({
    figure,
    required: `≥ ${percent(required)}`,
    measured: percent(speed.median),
    spread: `${percent(speed.least)} … ${percent(speed.most)}`,
    ok: speed.median >= required,
    beside: `${both(comparison)}${note}`,
  })
}

/** Reads of these resources, in an order of chance, by both sides in turns; `name` is the profile's. */
const compareReads = async (
  bench: Bench,
  name: string,
  house: House,
  paths: readonly string[],
): Promise<Comparison> => {
  // The bare side cannot hold a million answers: what it sends is of the same size, which is what counts.
  const sample = paths.slice(0, 1000)
  const bare = await startBareReads(bench, house.address, sample)
  const dice = createDice(7)
  const readOf = (address: string, list: readonly string[]) => {
    const single = list.length === 1 ? toGet(address, list[0] as string) : undefined
    return () => single ?? toGet(address, dice.pick(list))
  }
  const side = (subject: House, list: readonly string[]) => {
    const { address } = subject
    const options = { address, connections: CONNECTIONS, next: readOf(address, list) }
    return {
      warm: () => load({ ...options, requests: WARM }),
      run: (seconds: number) => measure(subject, { ...options, seconds }),
    }
  }
  const ours = side(house, paths)
  const other = side(bare, sample)
  try {
    await ours.warm()
    await other.warm()
    const comparison = await compare(
      bench.rounds,
      () => ours.run(bench.seconds),
      () => other.run(bench.seconds),
    )
    await profile(bench, name, house, ours.run)
    await profile(bench, `${name}-bare`, bare, other.run)
    return comparison
  } finally {
    await bare.stop()
  }
}

/** Creates what is to be read; answers the paths. */
const fill = async (bench: Bench, place: Place, settings: Settings, count: number): Promise<readonly string[]> => {
  const house = await startHouse(bench, place, { settings })
  try {
    bench.say(`creating ${count} resources`)
    const dice = createDice(1)
    const people = await seedPeople(house.address, dice, Math.max(1, Math.floor(count / 40)))
    const { references } = await seed(house.address, makeBodies(dice, people, count))
    return references.map((reference) => `/${reference}`)
  } finally {
    await house.stop()
  }
}

/** A server that was started again after it was filled: without what installing and migrating left behind. */
const withFilled = async (
  bench: Bench,
  settings: Settings,
  count: number,
  work: (house: House, paths: readonly string[], place: Place) => Promise<void>,
): Promise<void> => {
  const place = createPlace()
  try {
    const paths = await fill(bench, place, settings, count)
    const house = await startHouse(bench, place, { settings })
    try {
      await work(house, paths, place)
    } finally {
      await house.stop()
    }
  } finally {
    place.remove()
  }
}

const hot = async (bench: Bench, settings: Settings, required: number, title: string): Promise<void> =>
  withFilled(bench, settings, 1000, async (house, paths) => {
    for (const count of [1, 1000]) {
      bench.say(`reading ${count} of them`)
      const name = `read-${count}${title.replaceAll(/[^a-z]+/g, '-')}`
      const comparison = await compareReads(bench, name, house, paths.slice(0, count))
      reportReads(bench, `1 read, hot, ${count} resource${count === 1 ? '' : 's'}${title}`, required, comparison)
    }
  })

export const read: Figure = {
  name: 'read',
  description: 'read by id, hot, 16 connections, of one and of 1,000 resources, with and without their audit events',
  async run(bench) {
    await hot(bench, {}, 0.75, '')
    await hot(bench, { audit: { reads: false } }, 0.9, ', audit.reads off')
  },
}

const CACHED_SHARE = 0.1
const ENTRY_BYTES = 4 * 500 + 400 // what the cache reckons for a packed observation of this corpus

export const readUniform: Figure = {
  name: 'read-uniform',
  description: 'read by id, uniform over --resources, with a cache of a tenth of them, against bare Fastify',
  run: (bench) =>
    withFilled(
      bench,
      { fhir: { cache_bytes: Math.floor(bench.resources * CACHED_SHARE * ENTRY_BYTES) } },
      bench.resources,
      async (house, paths, place) => {
        bench.say('reading them')
        const comparison = await compareReads(bench, 'read-uniform', house, paths)
        const megabytes = Math.round(place.size() / 1024 / 1024)
        reportReads(
          bench,
          `2 read, uniform over ${bench.resources}`,
          0.5,
          comparison,
          `; required over 1,000,000; file ${megabytes} MB`,
        )
      },
    ),
}
