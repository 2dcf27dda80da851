/**
 * Hot reads and searches on PostgreSQL: the server with the writer lease, which answers from memory, against the same server
 * without the lease, which queries the database. Each has a copy of one database.
 */
import { startPostgres } from '../../support/postgres.ts'
import type { Bench, Figure } from '../bench.ts'
import { load, toGet } from '../client.ts'
import { compare } from '../compare.ts'
import { createDice, type Dice } from '../corpus/random.ts'
import { populate } from '../corpus/searched.ts'
import { createPlace, type House, startHouse } from '../house.ts'
import { measure, profile } from '../measure.ts'
import { both, times } from '../table.ts'
import { AS_RUN } from './tail.ts'

const CONNECTIONS = 16
const WARM = 16_000 // requests of each side before it is measured
const RESOURCES = 2_000
const REQUIRED = 2

const report = async (
  bench: Bench,
  title: string,
  required: number | undefined,
  [house, other]: readonly [House, House],
  pathOf: (dice: Dice) => string,
): Promise<void> => {
  bench.say(title)
  const sideOf = (subject: House) => {
    const { address } = subject
    const dice = createDice(9)
    const options = { address, connections: CONNECTIONS, next: () => toGet(address, pathOf(dice)) }
    return {
      warm: () => load({ ...options, requests: WARM }),
      run: (seconds: number) => measure(subject, { ...options, seconds }),
    }
  }
  const [ours, others] = [sideOf(house), sideOf(other)]
  await ours.warm()
  await others.warm()
  const comparison = await compare(
    bench.rounds,
    () => ours.run(bench.seconds),
    () => others.run(bench.seconds),
  )
  await profile(bench, `sole-${title.replaceAll(/[^a-z0-9]+/g, '-')}`, house, ours.run)
  const { speed } = comparison
  bench.report({
    figure: `PostgreSQL, ${title}, with the lease / without`,
    required: required === undefined ? '' : `≥ ${times(required)}`,
    measured: times(speed.median),
    spread: `${times(speed.least)} … ${times(speed.most)}`,
    ok: required === undefined || speed.median >= required,
    beside: both(comparison),
  })
}

export const sole: Figure = {
  name: 'sole',
  description: 'hot reads and searches on PostgreSQL with the writer lease, from memory, and without it',
  async run(bench) {
    const place = createPlace()
    const server = await startPostgres({ settings: AS_RUN })
    const houses: House[] = []
    try {
      const start = async (name: string, process: 'house' | 'together'): Promise<House> => {
        const database = { kind: 'postgres', postgres_url: server.url(undefined, name) }
        return startHouse(bench, place, { settings: { database }, process })
      }
      await server.createDatabase('first')
      bench.say(`creating ${RESOURCES} resources`)
      const filling = await start('first', 'house')
      const { reads, asks } = await populate(filling.address, RESOURCES, bench.say).finally(() => filling.stop())
      await server.createDatabase('second', 'first')
      houses.push(await start('first', 'house'), await start('second', 'together'))
      const pair = houses as unknown as readonly [House, House]
      await report(bench, 'reads of one resource', REQUIRED, pair, () => reads[0] as string)
      await report(bench, `reads of ${reads.length} resources`, REQUIRED, pair, (dice) => dice.pick(reads))
      await report(bench, 'searches by patient and code', undefined, pair, asks.selective)
      await report(bench, 'searches by name', undefined, pair, asks.name)
    } finally {
      for (const house of houses) await house.stop()
      await server.stop()
      place.remove()
    }
  },
}
