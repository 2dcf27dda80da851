/**
 * The audit trail on PostgreSQL is one chain, and with it all writers stand in one line: creates of a server with it
 * against those of one without, over HTTP, in turns. Both servers and both databases are made alike but for that.
 */
import { startPostgres } from '../../support/postgres.ts'
import type { Bench, Figure } from '../bench.ts'
import { compare } from '../compare.ts'
import { createDice } from '../corpus/random.ts'
import { makeBodies, seedPeople, toCreates } from '../corpus/seed.ts'
import { createPlace, type House, startHouse } from '../house.ts'
import { measure, profile } from '../measure.ts'
import { both, percent } from '../table.ts'

const WARM_SECONDS = 1
const BODIES = 2_000 // different ones, sent again and again
const PEOPLE = 200
const REQUIRED = 0.75

interface Side {
  readonly house: House
  readonly requests: readonly Buffer[]
}

export const postgresTrail: Figure = {
  name: 'postgres-trail',
  description: 'creates on PostgreSQL with the audit trail, against a server without it',
  async run(bench: Bench) {
    const postgres = await startPostgres({ settings: { fsync: 'on', synchronous_commit: 'on' } })
    const places = [createPlace(), createPlace()] as const
    const sides: Side[] = []
    try {
      for (const [at, place] of places.entries()) {
        await postgres.createDatabase(`trail${at}`)
        const settings = {
          database: { kind: 'postgres', postgres_url: postgres.url(undefined, `trail${at}`) },
          audit: { enabled: at === 0 },
        }
        const house = await startHouse(bench, place, { settings })
        const dice = createDice(2)
        const people = await seedPeople(house.address, dice, PEOPLE)
        sides.push({ house, requests: toCreates(house.address, makeBodies(dice, people, BODIES)) })
      }
      const run = ({ house, requests }: Side, connections: number) => {
        let at = 0
        const next = () => requests[at++ % requests.length] as Buffer
        return (seconds: number) => measure(house, { address: house.address, connections, next, seconds })
      }
      for (const connections of [8, 16]) {
        const [audited, plain] = sides.map((side) => run(side, connections)) as [
          ReturnType<typeof run>,
          ReturnType<typeof run>,
        ]
        await audited(WARM_SECONDS)
        await plain(WARM_SECONDS)
        bench.say(`creating over ${connections} connections`)
        const comparison = await compare(
          bench.rounds,
          () => audited(bench.seconds),
          () => plain(bench.seconds),
        )
        const { speed } = comparison
        bench.report({
          figure: `PostgreSQL create with audit trail, ${connections} connections`,
          required: `≥ ${percent(REQUIRED)}`,
          measured: percent(speed.median),
          spread: `${percent(speed.least)} … ${percent(speed.most)}`,
          ok: speed.median >= REQUIRED,
          beside: both(comparison),
        })
        await profile(bench, `trail-${connections}`, sides[0]!.house, audited)
      }
    } finally {
      for (const { house } of sides) await house.stop()
      for (const place of places) place.remove()
      await postgres.stop()
    }
  },
}
