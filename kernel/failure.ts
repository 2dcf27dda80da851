/**
 * Records that a plugin found the server unable to continue. From then on it refuses requests, and the host or the CLI
 * has to stop it.
 */
import type { Logger } from 'pino'
import type { Lifecycles } from './lifecycles.ts'
import { toServerError } from './outcome.ts'
import type { Phases } from './phase.ts'
import type { ReadinessBoard } from './readiness.ts'
import type { ServerError } from './server-error.ts'

const FAILED = 1
const MAX_EXIT_CODE = 255 // the largest exit code of a process

export interface Failure {
  readonly error: ServerError
  /** From 1 to 255. */
  readonly exitCode: number
}

export interface FailureParts {
  readonly phases: Phases
  readonly readiness: ReadinessBoard
  readonly lifecycles: Lifecycles
  readonly log: Logger
}

export interface FailureBoard {
  /** The first failure wins. An exit code outside 1 to 255 becomes 1. */
  fail(plugin: string, error: ServerError, exitCode?: number): void
  readonly first: Failure | undefined
  /** Resolves with the first failure; stays pending when there is none. */
  readonly reported: Promise<Failure>
}

export const createFailureBoard = ({ phases, readiness, lifecycles, log }: FailureParts): FailureBoard => {
  const { promise, resolve } = Promise.withResolvers<Failure>()
  let first: Failure | undefined

  return {
    fail(plugin, thrown, exitCode = FAILED) {
      const error = toServerError(thrown)
      const { key, extras, cause } = error
      log.fatal({ plugin, key, detail: extras.detail, err: cause ?? error }, 'the server has failed')
      if (first !== undefined) return
      first = {
        error,
        exitCode: Number.isInteger(exitCode) && exitCode > 0 && exitCode <= MAX_EXIT_CODE ? exitCode : FAILED,
      }
      const { now } = phases
      if (now === 'set-up' || now === 'listening' || now === 'ready') {
        phases.enter('failed')
        readiness.failed('the server has failed')
      }
      // Aborts plugins that are still starting; no other one starts. When all have started, only a stop may abort this
      // signal.
      if (now !== 'ready') lifecycles.abort()
      resolve(first)
    },
    get first() {
      return first
    },
    reported: promise,
  }
}
