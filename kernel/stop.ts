/** The graceful stop: its steps, their order and their time limits. */
import type { Clock } from './clock.ts'
import type { InFlight } from './in-flight.ts'
import type { Lifecycles } from './lifecycles.ts'
import type { Phases } from './phase.ts'
import type { ReadinessBoard } from './readiness.ts'
import type { Upgrades } from './upgrades.ts'

const STOP_MS = 10_000 // for the whole stop: supervisors commonly kill a process about that long after SIGTERM
const FINISH_MS = 8_000 // part of that for requests in flight; then their connections are cut

export interface StopParts {
  readonly phases: Phases
  readonly readiness: ReadinessBoard
  readonly lifecycles: Lifecycles
  readonly upgrades: Upgrades
  readonly inFlight: InFlight
  readonly clock: Clock
  /** Closes the port once its requests are answered; cuts them when the signal aborts. */
  readonly closePort: (late: AbortSignal) => Promise<void>
  readonly flushLog: () => void
}

export interface Stop {
  /** Refuses new requests from now on. An embedding host calls it before it waits for its connections. */
  begin(): void
  /** Begins, waits for what is in flight and for plugins to hand over, then stops the plugins in reverse. */
  all(): Promise<void>
  /** After a start that failed: stops what was started. */
  unstart(): Promise<void>
  /** Plugins that failed; known when `all` has resolved. */
  readonly failed: readonly string[]
}

export const createStop = (parts: StopParts): Stop => {
  const { phases, readiness, lifecycles, upgrades, inFlight, clock, closePort, flushLog } = parts
  let failed: readonly string[] = []
  let finish: AbortSignal | undefined
  let upgraded: Promise<void> | undefined
  let handedOver: Promise<readonly string[]> | undefined
  let stopped: Promise<void> | undefined

  const begin = (): AbortSignal => {
    if (finish !== undefined) return finish
    phases.enter('stopping')
    readiness.stopping()
    lifecycles.abort()
    finish = clock.deadline(FINISH_MS)
    upgraded = upgrades.stop(finish)
    handedOver = lifecycles.handOver(finish)
    return finish
  }
  const stopAll = async (): Promise<void> => {
    const finished = begin()
    const awake = setInterval(() => undefined, STOP_MS) // a deadline alone does not keep a process alive
    const late = clock.deadline(STOP_MS)
    try {
      const [kept = []] = await Promise.all([handedOver, closePort(finished), inFlight.finish(finished), upgraded])
      failed = [...new Set([...kept, ...(await lifecycles.stop(late))])]
    } finally {
      clearInterval(awake)
      phases.enter('stopped')
      flushLog()
    }
  }
  return {
    begin: () => void begin(),
    all() {
      stopped ??= stopAll()
      return stopped
    },
    async unstart() {
      lifecycles.abort()
      await lifecycles.stop(clock.deadline(STOP_MS))
    },
    get failed() {
      return failed
    },
  }
}
