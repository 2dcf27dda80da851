/**
 * This checkout beside another one (`--other <folder>`), in the same rounds: creates, reads and searches. Two processes of the
 * same build differ by a tenth and more, so there are two of each. Reads and searches are compared by their share as well: of bare
 * Fastify with the same bytes and headers, and of the server's own reads, as figures 1 and 7 have them.
 */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Bench, Figure } from '../bench.ts'
import { load, toGet } from '../client.ts'
import type { Round } from '../compare.ts'
import { createDice } from '../corpus/random.ts'
import { populate } from '../corpus/searched.ts'
import { makeBodies, seedPeople, toCreates } from '../corpus/seed.ts'
import { createPlace, type House, type Place, type startHouse } from '../house.ts'
import { orderOf } from '../interleave.ts'
import { measure } from '../measure.ts'
import { medianInterval } from '../median-interval.ts'
import { micros, percent, rate } from '../table.ts'
import { startBareReads } from './bare.ts'
import { cycle, searchOnce } from './create.ts'

const ROOT = join(import.meta.dirname, '../../..')
const CONNECTIONS = 16
const PROCESSES = 2 // of each build
const WARM = { create: 12_000, read: 60_000, search: 16_000 } // requests, by then what is measured is compiled
const POPULATION = 10_000 // resources that are read and searched
const READ = 1_000 // of them
const PEOPLE = 200
const BODIES = 2_000 // different ones, sent again and again
const LEAST = 0.95

const BUILDS = ['this', 'other'] as const
type Build = (typeof BUILDS)[number]
type Turn = () => Promise<Round>

type Start = () => Promise<House>

/** A process that is measured. */
interface Measured {
  readonly house: House
  readonly turn: Turn
  /** The load that the turn is compared with. It is measured right after the turn. */
  readonly whole?: Turn
  /** Stops the process that `whole` measures. */
  readonly stop?: () => Promise<void>
}
interface Scenario {
  readonly figure: string
  /** Starts a server on an empty database and warms it up. */
  begin(bench: Bench, start: Start): Promise<Measured>
}

const turnOf =
  (
    { seconds }: Bench,
    house: House,
    connections: number,
    next: () => Buffer | string,
    finish?: () => Promise<void>,
  ): Turn =>
  () =>
    measure(house, { address: house.address, connections, next, seconds }, finish)

/** A server that was started again behind it: without what filling the database has left in memory. */
const startFilled = async (start: Start, resources: number) => {
  const first = await start()
  const { asks, reads } = await populate(first.address, resources, () => undefined)
  await first.stop()
  return { house: await start(), asks, paths: reads }
}

const creates = (connections: number): Scenario => ({
  figure: `creates, ${connections} connection${connections === 1 ? '' : 's'}`,
  async begin(bench, start) {
    const house = await start()
    const { address } = house
    const dice = createDice(2)
    const requests = toCreates(address, makeBodies(dice, await seedPeople(address, dice, PEOPLE), BODIES))
    const next = cycle(requests)
    await load({ address, connections: CONNECTIONS, next, requests: WARM.create })
    return { house, turn: turnOf(bench, house, connections, next, () => searchOnce(address)) }
  },
})

const readsOf = (count: number): Scenario => ({
  figure: `reads of ${count}`,
  async begin(bench, start) {
    const { house, paths: all } = await startFilled(start, READ)
    const paths = all.slice(0, count)
    const bare = await startBareReads(bench, house.address, paths)
    const turnTo = async (subject: House): Promise<Turn> => {
      const { address } = subject
      const requests = paths.map((path) => toGet(address, path))
      const dice = createDice(7)
      const next = () => dice.pick(requests)
      await load({ address, connections: CONNECTIONS, next, requests: WARM.read })
      return turnOf(bench, subject, CONNECTIONS, next)
    }
    return { house, turn: await turnTo(house), whole: await turnTo(bare), stop: bare.stop }
  },
})

const searches = (what: 'selective' | 'name'): Scenario => ({
  figure: `searches, ${what}`,
  async begin(bench, start) {
    const { house, asks, paths } = await startFilled(start, POPULATION)
    const { address } = house
    const dice = createDice(9)
    const search = () => toGet(address, asks[what](dice))
    const read = () => toGet(address, dice.pick(paths))
    for (const next of [search, read]) await load({ address, connections: CONNECTIONS, next, requests: WARM.search })
    return {
      house,
      turn: turnOf(bench, house, CONNECTIONS, search),
      whole: turnOf(bench, house, CONNECTIONS, read),
    }
  },
})

const SCENARIOS: readonly Scenario[] = [
  creates(CONNECTIONS),
  creates(1),
  readsOf(1),
  readsOf(READ),
  searches('selective'),
  searches('name'),
]

/** Means of the processes of a build in one round. */
interface Means {
  readonly perSecond: number
  readonly cpu: number
  readonly share: number
}

const meanOf = <T>(all: readonly T[], of: (one: T) => number): number =>
  all.reduce((sum, one) => sum + of(one), 0) / all.length

const takeTurns = async (all: readonly Measured[]): Promise<Means> => {
  const means: Means[] = []
  for (const { turn, whole } of all) {
    const { perSecond, cpu } = await turn()
    means.push({ perSecond, cpu, share: whole === undefined ? Number.NaN : perSecond / (await whole()).perSecond })
  }
  return {
    perSecond: meanOf(means, (one) => one.perSecond),
    cpu: meanOf(means, (one) => one.cpu),
    share: meanOf(means, (one) => one.share),
  }
}

const report = async (
  bench: Bench,
  figure: string,
  subjects: Readonly<Record<Build, readonly Measured[]>>,
): Promise<void> => {
  const rounds: Record<Build, Means>[] = []
  for (let round = 0; round < bench.rounds; round += 1) {
    const means: Partial<Record<Build, Means>> = {}
    for (const build of orderOf(BUILDS, round)) means[build] = await takeTurns(subjects[build])
    rounds.push(means as Record<Build, Means>)
  }
  const ratio = (key: keyof Means) => medianInterval(rounds.map((means) => means.this[key] / means.other[key]))
  const mean = (build: Build, key: keyof Means): number => meanOf(rounds, (means) => means[build][key])
  const beside =
    `${rate(mean('this', 'perSecond'))} beside ${rate(mean('other', 'perSecond'))}; ` +
    `CPU ${micros(mean('this', 'cpu'))} beside ${micros(mean('other', 'cpu'))}, ${percent(ratio('cpu').median)}`
  for (const [name, key] of [
    [figure, 'perSecond'],
    [`${figure}, share`, 'share'],
  ] as const) {
    const { median, low, high } = ratio(key)
    if (Number.isNaN(median)) continue
    bench.report({
      figure: name,
      required: `≥ ${percent(LEAST)}`,
      measured: percent(median),
      spread: `${percent(low)} … ${percent(high)}`,
      ok: median >= LEAST,
      beside,
    })
  }
}

const startIn = async (folder: string): Promise<typeof startHouse> =>
  (await import(pathToFileURL(join(folder, 'test/bench/house.ts')).href)).startHouse

const compareBuilds = async (bench: Bench, folder: string, { figure, begin }: Scenario): Promise<void> => {
  bench.say(figure)
  const starts: Readonly<Record<Build, typeof startHouse>> = { this: await startIn(ROOT), other: await startIn(folder) }
  const subjects: Record<Build, Measured[]> = { this: [], other: [] }
  const places: Place[] = []
  try {
    for (let at = 0; at < PROCESSES; at += 1)
      for (const build of BUILDS) {
        const place = createPlace()
        places.push(place)
        subjects[build].push(await begin(bench, () => starts[build](bench, place)))
      }
    await report(bench, figure, subjects)
  } finally {
    for (const { house, stop } of [...subjects.this, ...subjects.other]) await Promise.all([house.stop(), stop?.()])
    for (const place of places) place.remove()
  }
}

export const otherBuild: Figure = {
  name: 'other-build',
  description: 'creates, reads and searches beside those of another checkout (--other folder)',
  async run(bench) {
    if (bench.otherFolder === undefined) throw new Error('other-build needs --other with the folder of a checkout')
    for (const scenario of SCENARIOS) await compareBuilds(bench, bench.otherFolder, scenario)
  },
}
