/**
 * The protocol of the writer lease in a history that a seed decides: processes are killed, stand still, go on, and are cut
 * off from the database, on clocks of different speed. It drives the code of the server on a database that is a few
 * variables. Rules: two servers never answer at once; each epoch has commits of one server, and none after the first of a
 * later epoch; one server holds the lease once the faults are over.
 */
import { createSeededRandom } from '../fuzz/random.ts'
import { createLeaseDatabase, wrongCommits } from './lease-database.ts'
import { createLeaseProcess, type LeaseFault, type LeaseProcess } from './lease-process.ts'
import { createSimulatedWorld } from './simulated-world.ts'

const FAULTS_MS = 60_000 // of faults in each history
const CALM_MS = 45_000 // after them, some of which last for 15 seconds more
const LATE_MS = 10_000 // before the end; somebody holds the lease since then
const SERVERS = 3

export interface LeaseOutcome {
  /** Events that were simulated. */
  readonly steps: number
  /** What was wrong, in words. */
  readonly broken: readonly string[]
  readonly epochs: number
  readonly commits: number
}

export const simulateLease = async (seed: number, planted?: LeaseFault): Promise<LeaseOutcome> => {
  const random = createSeededRandom(seed)
  const world = createSimulatedWorld()
  const database = createLeaseDatabase()
  const all: LeaseProcess[] = []
  const add = (): void => void all.push(createLeaseProcess({ id: all.length, world, database, random, planted }))
  for (let n = 0; n < SERVERS; n += 1) add()
  /** A lost one is replaced, as a supervisor does. */
  const living = () => all.filter(({ state }) => !state.isDead && !state.isLost)
  const fault = (): void => {
    const one = random.pick(living())
    const ms = random.int(15_000)
    const kind = random.int(4)
    if (kind === 0) one.kill()
    if (kind === 1) {
      one.freeze()
      world.after(ms, one.thaw)
    }
    if (kind >= 2) {
      one.cut()
      world.after(ms, one.mend)
    }
    while (living().length < SERVERS) add()
    const next = random.int(8_000)
    if (world.now + next < FAULTS_MS) world.after(next, fault)
  }
  world.after(random.int(3_000), fault)
  const broken: string[] = []
  let heldAt = Number.NEGATIVE_INFINITY
  await world.run(FAULTS_MS + CALM_MS, () => {
    while (living().length < SERVERS) add()
    const holders = all.filter((one) => one.holds()).length
    if (holders > 1) broken.push(`two servers answer at ${world.now}`)
    if (holders === 1) heldAt = world.now
  })
  // Answers of the database are late now and then, also without faults.
  if (world.now - heldAt > LATE_MS) broken.push('no server holds the lease when the faults are over')
  broken.push(...wrongCommits(database))
  return { steps: world.steps, broken, epochs: database.row.epoch, commits: database.commits.length }
}
