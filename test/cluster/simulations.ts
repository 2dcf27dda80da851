/**
 * The protocols of the lease and of the feed in simulated histories, one seed after the other, until so many events were
 * simulated of each; then each planted fault, until a history finds it.
 */
import { simulateFeed } from '../simulation/feed-history.ts'
import { FEED_FAULTS } from '../simulation/feed-keeper.ts'
import { simulateLease } from '../simulation/lease-history.ts'
import { LEASE_FAULTS } from '../simulation/lease-process.ts'

const MOST_SEEDS = 5_000 // until a planted fault is found

type Simulate = (seed: number) => Promise<{ readonly steps: number; readonly broken: readonly string[] }>

interface Protocol {
  readonly name: string
  readonly simulate: Simulate
  readonly planted: readonly (readonly [fault: string, simulate: Simulate])[]
}

const PROTOCOLS: readonly Protocol[] = [
  {
    name: 'lease',
    simulate: simulateLease,
    planted: LEASE_FAULTS.map((fault) => [fault, (seed) => simulateLease(seed, fault)]),
  },
  {
    name: 'feed',
    simulate: simulateFeed,
    planted: FEED_FAULTS.map((fault) => [fault, (seed) => simulateFeed(seed, fault)]),
  },
]

export const checkSimulations = async (least: number, first: number): Promise<readonly string[]> => {
  const wrong: string[] = []
  for (const { name, simulate, planted } of PROTOCOLS) {
    const from = performance.now()
    let steps = 0
    let seed = first
    for (; steps < least; seed += 1) {
      const history = await simulate(seed)
      steps += history.steps
      wrong.push(...new Set(history.broken.map((one) => `${name}, seed ${seed}: ${one}`)))
    }
    const seconds = ((performance.now() - from) / 1000).toFixed(0)
    console.log(`${name}: ${steps} steps in ${seconds} s, seeds ${first} to ${seed - 1}`)
    for (const [fault, simulateFault] of planted) {
      let tried = first
      while (tried < first + MOST_SEEDS && (await simulateFault(tried)).broken.length === 0) tried += 1
      if (tried === first + MOST_SEEDS) wrong.push(`${name}: a server that ${fault} was not found out`)
      else console.log(`${name}: a server that ${fault} is found out by seed ${tried}`)
    }
  }
  return wrong
}
