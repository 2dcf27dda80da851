/** Creates that a replica sends on to the primary, beside those that the primary gets itself, over one connection each. */
import { openCluster } from '../../cluster/cluster-place.ts'
import type { Bench, Figure } from '../bench.ts'
import { load, toSend } from '../client.ts'
import { median, spreadOf } from '../compare.ts'
import { makePatient } from '../corpus/clinical.ts'
import { createDice } from '../corpus/random.ts'
import { millis } from '../table.ts'
import { AS_RUN } from './tail.ts'

const BODIES = 500 // different ones, sent again and again
const WARM = 3_000 // creates of each side before it is measured
const MOST_MS = 1

export const relay: Figure = {
  name: 'relay',
  description: 'creates on PostgreSQL that a replica sends on, and those sent to the primary itself',
  async run(bench: Bench) {
    const place = await openCluster(1, { lines: AS_RUN, cores: bench.cores })
    try {
      const dice = createDice(4)
      const bodies = Array.from({ length: BODIES }, () => makePatient(dice))
      const sideOf = (address: string) => {
        const requests = bodies.map((body) => toSend(address, 'POST', '/Patient', body))
        let at = 0
        const options = { address, connections: 1, next: () => requests[at++ % requests.length] as Buffer }
        return {
          warm: () => load({ ...options, requests: WARM }),
          /** Milliseconds, of half of the creates. */
          run: async () => (await load({ ...options, seconds: bench.seconds })).at(0.5),
        }
      }
      const [direct, relayed] = [sideOf(place.primary), sideOf(place.replicas[0] as string)]
      bench.say('creating at the primary and through a replica')
      await direct.warm()
      await relayed.warm()
      const rounds: { readonly direct: number; readonly relayed: number }[] = []
      for (let n = 0; n < bench.rounds; n += 1)
        rounds.push({ direct: await direct.run(), relayed: await relayed.run() })
      const { median: more, least, most } = spreadOf(rounds.map((round) => round.relayed - round.direct))
      bench.report({
        figure: 'PostgreSQL create through a replica, p50 above direct',
        required: `≤ ${MOST_MS} ms`,
        measured: millis(more),
        spread: `${millis(least)} … ${millis(most)}`,
        ok: more <= MOST_MS,
        beside: `p50 ${millis(median(rounds.map((round) => round.relayed)))} of ${millis(median(rounds.map((round) => round.direct)))}, one connection`,
      })
    } finally {
      await place.stop()
    }
  },
}
