/** Opens sessions for those who wait, at growing intervals while the server cannot be reached. */
import type { Logger } from '../../../kernel/index.ts'
import type { Connector } from './client.ts'
import type { Session } from './session.ts'

export const FIRST_PAUSE_MS = 100
export const LONGEST_PAUSE_MS = 1_000 // so that a server that is back is found within the reuse time of readiness

export interface SessionGrowthParts {
  readonly connector: Connector
  /** Aborts when the pool is closed. */
  readonly signal: AbortSignal
  readonly log: Logger
  /** How many sessions those who wait could use. */
  readonly wanted: () => number
  /** How many sessions the pool may have beside those that are open. */
  readonly room: () => number
  readonly admit: (session: Session) => void
  /** Called after a failure, while nothing else connects. */
  readonly failed: (error: unknown) => void
}

export interface SessionGrowth {
  readonly connecting: number
  /** Opens what is wanted, while there is room and the server is not known to be unreachable. */
  grow(): void
  stop(): void
}

export const createSessionGrowth = (parts: SessionGrowthParts): SessionGrowth => {
  const { connector, signal, log, wanted, room, admit } = parts
  let [connecting, pauseMs] = [0, 0]
  let pausing: NodeJS.Timeout | undefined

  const fail = (error: unknown): void => {
    // A warning once per outage; later attempts are logged at debug level.
    log[pauseMs === 0 ? 'warn' : 'debug']({ err: error }, 'cannot connect to the database')
    pauseMs = Math.min(pauseMs === 0 ? FIRST_PAUSE_MS : pauseMs * 2, LONGEST_PAUSE_MS)
    pausing = setTimeout(() => {
      pausing = undefined
      grow()
    }, pauseMs).unref()
    if (connecting === 0) parts.failed(error)
  }
  const grow = (): void => {
    // After a failed attempt only one connection is tried at a time.
    const most = pauseMs > 0 ? Math.min(1, wanted()) : wanted()
    while (!signal.aborted && pausing === undefined && connecting < most && connecting < room()) {
      connecting += 1
      connector.connect(signal).then(
        (session) => {
          connecting -= 1
          if (signal.aborted) return session.destroy()
          if (!session.isUsable) return fail(new Error('the connection was lost as soon as it was there'))
          if (pauseMs > 0) log.info('connected to the database again')
          pauseMs = 0
          admit(session)
          grow()
        },
        (error) => {
          connecting -= 1
          if (!signal.aborted) fail(error)
        },
      )
    }
  }
  return {
    get connecting() {
      return connecting
    },
    grow,
    stop: () => clearTimeout(pausing),
  }
}
