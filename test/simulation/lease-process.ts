/** A process that wants the writer lease, in a simulation: its clock, whether it runs, and its way to the database. */
import { pino } from 'pino'
import type { Clock } from '../../kernel/index.ts'
import { createCommitOrder } from '../../plugins/database/feed/commit-order.ts'
import { type HeldLease, holdLease } from '../../plugins/database/lease/hold-lease.ts'
import type { LeasePort } from '../../plugins/database/lease/lease-port.ts'
import { takeLease } from '../../plugins/database/lease/take-lease.ts'
import { createTenure, type Tenure } from '../../plugins/database/lease/tenure.ts'
import { TIMES, type Times } from '../../plugins/database/lease/times.ts'
import type { SeededRandom } from '../fuzz/random.ts'
import type { LeaseDatabase, LeaseSession } from './lease-database.ts'
import type { SimulatedWorld } from './simulated-world.ts'

/** One fault each, planted to see that the rules find it. */
export const LEASE_FAULTS = [
  'takes too soon',
  'takes what has changed',
  'renews the lease of another',
  'beats in a later epoch',
  'answers after its time',
  'counts from the answer',
  'commits without the fence',
] as const
export type LeaseFault = (typeof LEASE_FAULTS)[number]

const HASTY: Times = { ...TIMES, grace: 1_500, lease: 2_500 }
const FOREVER_MS = 1e9

const log = pino({ level: 'silent' })

interface ProcessParts {
  readonly id: number
  readonly world: SimulatedWorld
  readonly database: LeaseDatabase
  readonly random: SeededRandom
  readonly planted: LeaseFault | undefined
}

export const createLeaseProcess = ({ id, world, database, random, planted }: ProcessParts) => {
  const times = planted === 'takes too soon' ? HASTY : TIMES
  const speed = 0.97 + random.next() * 0.06
  const offset = random.int(100_000)
  const sessions = new Set<LeaseSession>()
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
  const drop = (session: LeaseSession): void => {
    session.isOpen = false
    if (database.lock === session) database.lock = undefined
  }

  const connect = (): Promise<LeasePort> =>
    new Promise((resolve, reject) => {
      const session: LeaseSession = { owner: id, isOpen: true }
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
        take: (_self, seen) =>
          ask(() =>
            begin(planted === 'takes what has changed' || (row.epoch === seen.epoch && row.beat === seen.beat)),
          ),
        renew: (_self, epoch) => {
          const isOwn = () => row.epoch === epoch && row.server === self.server && !row.isReleased
          return ask(() => begin(planted === 'renews the lease of another' || isOwn()))
        },
        beat: (epoch) =>
          ask(() => {
            if (row.epoch !== epoch && planted !== 'beats in a later epoch') return undefined
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

  const own = createTenure(clock, planted === 'answers after its time' ? { ...times, valid: FOREVER_MS } : times)
  const tenure: Tenure = planted === 'counts from the answer' ? { ...own, confirm: () => own.confirm(own.now()) } : own
  const parts = { connect, self, isGone: () => false, tenure, clock, times, log }
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
  /** A transaction: it begins while requests are answered, works, and sends the fence with COMMIT. */
  const commit = (): void => {
    world.after(random.int(400), () => inProcess(commit))
    const { lease } = state
    if (lease?.isValid() !== true) return
    world.after(random.chance(0.1) ? random.int(3_000) : random.int(10), () =>
      inProcess(() => {
        const { epoch } = lease
        if (state.isCutOff) return
        world.after(delay(), () => {
          if (database.row.epoch === epoch || planted === 'commits without the fence')
            database.commits.push({ epoch, writer: id })
        })
      }),
    )
  }
  void start()
  commit()
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

export type LeaseProcess = ReturnType<typeof createLeaseProcess>
