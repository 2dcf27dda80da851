/** Decides whether requests are accepted at this time. */
import { Failed, NotStarted, Starting, Stopping } from './errors.ts'
import type { FailureBoard } from './failure.ts'
import type { Gate } from './gates.ts'
import type { Phases } from './phase.ts'
import type { ReadinessBoard } from './readiness.ts'
import type { ServerError } from './server-error.ts'

export interface RefusalParts {
  readonly phases: Phases
  readonly readiness: ReadinessBoard
  readonly failures: FailureBoard
  /** The gates of all plugins; null where there are none. */
  readonly gate: Gate | null
}

/** Returns a function that gives the error with which requests are refused; undefined to accept them. */
export const createRefusal =
  ({ phases, readiness, failures, gate }: RefusalParts) =>
  (): ServerError | undefined => {
    if (phases.now === 'ready') return gate === null ? undefined : gate()
    if (phases.isStopping()) return Stopping().with({ headers: { 'retry-after': '1', connection: 'close' } })
    if (phases.now === 'failed')
      return failures.first === undefined ? NotStarted() : Failed().with({ headers: { connection: 'close' } })
    return Starting(readiness.starting ?? 'starting').with({ headers: { 'retry-after': '1' } })
  }
