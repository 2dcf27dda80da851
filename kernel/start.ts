/** The start of the plugins: once, and undone where it fails. */
import type { Logger } from 'pino'
import { StoppedEarly, WrongPhase } from './errors.ts'
import type { FailureBoard } from './failure.ts'
import type { Lifecycles } from './lifecycles.ts'
import type { Phases } from './phase.ts'
import type { ReadinessBoard } from './readiness.ts'

export interface StartParts {
  readonly phases: Phases
  readonly readiness: ReadinessBoard
  readonly lifecycles: Lifecycles
  readonly failures: FailureBoard
  /** Plugins to start; undefined for all. */
  readonly started: ReadonlySet<string> | undefined
  /** A setting that has no effect, for the operator. */
  readonly idle: string | undefined
  /** Stops what was started. */
  readonly unstart: () => Promise<void>
  readonly log: Logger
}

/** Returns the kernel's `start`. */
export const createStart = (parts: StartParts): (() => Promise<void>) => {
  const { phases, readiness, lifecycles, failures, started, idle, unstart, log } = parts

  const startAll = async (): Promise<void> => {
    if (idle !== undefined) log.warn(idle)
    try {
      await lifecycles.start(started)
      if (phases.isStopping() || failures.first !== undefined) throw StoppedEarly()
    } catch (error) {
      if (phases.isStopping()) throw error
      if (phases.now !== 'failed') {
        phases.enter('failed')
        readiness.failed('the start failed')
      }
      await unstart()
      throw failures.first?.error ?? error
    }
    phases.enter('ready')
    readiness.started()
  }
  let starting: Promise<void> | undefined
  return () => {
    if (starting === undefined && phases.isStopping()) return Promise.reject(WrongPhase(phases.now, 'ready'))
    starting ??= startAll()
    return starting
  }
}
