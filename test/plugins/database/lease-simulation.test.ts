/**
 * The protocol of the writer lease in histories that a seed decides: processes are killed, stand still, go on, and are cut
 * off from the database, on clocks of different speed. It drives the code of the server on a database that is a few
 * variables.
 */
import { pino } from 'pino'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Clock } from '../../../kernel/index.ts'
import { createCommitOrder } from '../../../plugins/database/feed/commit-order.ts'
import { type HeldLease, holdLease } from '../../../plugins/database/lease/hold-lease.ts'
import type { LeasePort, LeaseRow } from '../../../plugins/database/lease/lease-port.ts'
import { takeLease } from '../../../plugins/database/lease/take-lease.ts'
import { createTenure } from '../../../plugins/database/lease/tenure.ts'
import { TIMES, type Times } from '../../../plugins/database/lease/times.ts'
import { createSeededRandom, type SeededRandom } from '../../fuzz/random.ts'
import { createSimulatedWorld, type SimulatedWorld } from '../../support/simulated-world.ts'

const HISTORIES = 150
const FAULTS_MS = 60_000 // of faults in each history
const CALM_MS = 30_000 // after them, one has to hold the lease
const SERVERS = 3

const log = pino({ level: 'silent' })
interface Session {
  readonly owner: number
  isOpen: boolean
}

const createDatabase = () => {
  const row: { -readonly [Key in keyof LeaseRow]: LeaseRow[Key] } = {
    epoch: 0,
    beat: 0,
    isReleased: true,
    server: '',
    host: '',
    boot: '',
    pid: 0,
    build: '',
  }
  return { row, lock: undefined as Session | undefined }
}

/** One process: its clock, whether it runs, and its way to the database. */
const createProcess = (
  id: number,
  world: SimulatedWorld,
  database: ReturnType<typeof createDatabase>,
  random: SeededRandom,
  times: Times,
) => {
  const speed = 0.97 + random.next() * 0.06
  const offset = random.int(100_000)
  const sessions = new Set<Session>()
  const waiting: (() => void)[] = []
  const state = {
    isRunning: true,
    isDead: false,
    isCutOff: false,
    lease: undefined as HeldLease | undefined,
    isLost: false,
  }

  /** Acts when the process runs; never when it is dead. */
  const inProcess = (act: () => void): void => {
    if (state.isDead) return
    if (state.isRunning) act()
    else waiting.push(act)
  }
  const clock: Clock = {
    monotonic: () => offset + world.now * speed,
    now: () => offset + world.now * speed,
    deadline(ms) {
      const controller = new AbortController()
      world.after(ms / speed, () => inProcess(() => controller.abort()))
      return controller.signal
    },
  }
  const self = { server: String(id), host: 'h', boot: '', pid: id, build: 'b' }
  const delay = (): number => (random.chance(0.03) ? random.int(2_500) : random.int(20))
  const drop = (session: Session): void => {
    session.isOpen = false
    if (database.lock === session) database.lock = undefined
  }

  const connect = (): Promise<LeasePort> =>
    new Promise((resolve, reject) => {
      const session: Session = { owner: id, isOpen: true }
      /** There and back, each time with a delay; nothing comes back from what is cut off. */
      const ask = <T>(work: () => T): Promise<T> =>
        new Promise((answer, fail) => {
          let isDone = false
          const late = clock.deadline(times.answer)
          late.addEventListener('abort', () => {
            if (isDone) return
            // The database notices that a connection is gone, unless it is cut off.
            if (!state.isCutOff) drop(session)
            fail(new Error('no answer'))
          })
          if (state.isCutOff) return
          world.after(delay(), () => {
            if (state.isDead) return
            if (!session.isOpen) return world.after(1, () => inProcess(() => fail(new Error('closed'))))
            const value = work()
            world.after(delay(), () => {
              if (state.isCutOff) return
              inProcess(() => {
                isDone = true
                answer(value)
              })
            })
          })
        })
      const begin = (where: boolean) => {
        if (!where) return undefined
        database.row.epoch += 1
        Object.assign(database.row, self, { beat: 0, isReleased: false })
        return { epoch: database.row.epoch, seq: 0 }
      }
      const { row } = database
      const port: LeasePort = {
        look: (hasLock) =>
          ask(() => {
            if (!hasLock) database.lock ??= session
            return { hasLock: database.lock === session, row: { ...row } }
          }),
        take: (_self, seen) => ask(() => begin(row.epoch === seen.epoch && row.beat === seen.beat)),
        renew: (_self, epoch) => ask(() => begin(row.epoch === epoch && row.server === self.server && !row.isReleased)),
        beat: (epoch) =>
          ask(() => {
            if (row.epoch !== epoch) return undefined
            row.beat += 1
            return { seq: 0, members: [] }
          }),
        announce: () => ask(() => undefined),
        attend: () => ask(() => undefined),
        dismiss: () => ask(() => undefined),
        unlock: () =>
          ask(() => {
            if (database.lock === session) database.lock = undefined
          }),
        evict: () =>
          ask(() => {
            if (database.lock !== undefined) drop(database.lock)
          }),
        release: (epoch) =>
          ask(() => {
            if (row.epoch === epoch) row.isReleased = true
            database.lock = undefined
          }),
        woken: () => new Promise(() => undefined),
        close: () => {
          if (!state.isCutOff) drop(session)
        },
      }
      const failed = clock.deadline(times.answer)
      failed.addEventListener('abort', () => reject(new Error('no connection')))
      if (state.isCutOff) return
      sessions.add(session)
      world.after(delay(), () => inProcess(() => resolve(port)))
    })

  const parts = { connect, self, isGone: () => false, tenure: createTenure(clock, times), clock, times, log }
  const start = async (): Promise<void> => {
    for (;;)
      try {
        const won = await takeLease(parts, { waits: true, onWait: () => undefined })
        if (won === undefined) throw new Error('it gave up')
        const commits = createCommitOrder({ publish: () => undefined, gap: () => undefined })
        state.lease = holdLease(parts, won, commits, () => {
          state.isLost = true
        })
        return
      } catch {
        // Its supervisor starts it again.
        await new Promise<void>((resolve) => world.after(500, () => inProcess(resolve)))
      }
  }
  void start()
  return {
    id,
    state,
    holds: (): boolean => state.isRunning && !state.isDead && state.lease?.isValid() === true,
    kill() {
      state.isDead = true
      for (const session of sessions) drop(session)
    },
    freeze: () => {
      state.isRunning = false
    },
    thaw() {
      state.isRunning = true
      for (const act of waiting.splice(0)) act()
    },
    cut: () => {
      state.isCutOff = true
    },
    mend: () => {
      state.isCutOff = false
    },
  }
}

interface Outcome {
  /** Times at which two processes would have answered. */
  readonly doubles: readonly number[]
  readonly epochs: number
  readonly holdersAtEnd: number
}

const simulate = async (seed: number, times: Times): Promise<Outcome> => {
  const random = createSeededRandom(seed)
  const world = createSimulatedWorld()
  const database = createDatabase()
  const all: ReturnType<typeof createProcess>[] = []
  const add = (): void => void all.push(createProcess(all.length, world, database, random, times))
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
  const doubles: number[] = []
  await world.run(FAULTS_MS + CALM_MS, () => {
    while (living().length < SERVERS) add()
    if (all.filter((one) => one.holds()).length > 1) doubles.push(world.now)
  })
  return { doubles, epochs: database.row.epoch, holdersAtEnd: all.filter((one) => one.holds()).length }
}

test(`over ${HISTORIES} histories never do two servers answer at once, and one does when the faults are over`, async () => {
  let epochs = 0
  for (let seed = 1; seed <= HISTORIES; seed += 1) {
    const { doubles, holdersAtEnd, epochs: more } = await simulate(seed, TIMES)
    assert.equal(doubles, [], `seed ${seed}`)
    assert.is(holdersAtEnd, 1, `seed ${seed}`)
    epochs += more
  }
  assert.ok(epochs > 3 * HISTORIES, `${epochs} takeovers`)
})

test('a taker that waits too short a time is found out', async () => {
  let found = 0
  for (let seed = 1; seed <= 40; seed += 1) {
    const { doubles } = await simulate(seed, { ...TIMES, grace: 1_500, lease: 2_500 })
    if (doubles.length > 0) found += 1
  }
  assert.ok(found > 0)
})

test.run()
