/** Waits until this process has the writer lease. Spec: Cluster behavior, a standby waits for the lease. */
import type { Clock, Logger } from '../../../kernel/index.ts'
import type { Claimant, LeasePort, LeaseRow, Taken } from './lease-port.ts'
import { pause } from './pause.ts'
import { createTaker } from './taker.ts'
import type { Moment, Tenure } from './tenure.ts'
import type { Times } from './times.ts'

export interface LeaseParts {
  /** Opens a port, a new connection. */
  readonly connect: (signal?: AbortSignal) => Promise<LeasePort>
  readonly self: Claimant
  readonly isGone: (row: LeaseRow) => boolean
  readonly tenure: Tenure
  readonly clock: Clock
  readonly times: Times
  readonly log: Logger
}

export interface TakeOptions {
  readonly signal?: AbortSignal | undefined
  /** False for a command: it does not wait for a server that is running. */
  readonly waits: boolean
  /** Called once, when another process has the lease. */
  readonly onWait: (holder: LeaseRow | undefined) => void
}

export interface WonLease {
  readonly port: LeasePort
  readonly hasLock: boolean
  /** Undefined in a database without tables: there the lock alone decides, and the first epoch begins after migration. */
  readonly taken: Taken | undefined
  /** The time before it was taken. */
  readonly sent: Moment
}

/**
 * Undefined when another process has the lease and `waits` is false. Throws the error of the first connection or look;
 * later ones are retried.
 */
export const takeLease = async (parts: LeaseParts, options: TakeOptions): Promise<WonLease | undefined> => {
  const { connect, self, isGone, tenure, clock, times, log } = parts
  const { signal, waits, onWait } = options
  const taker = createTaker({ times, isGone })
  let port: LeasePort | undefined
  let hasLock = false
  let isReported = false

  const wait = (holder: LeaseRow | undefined): void => {
    if (!isReported) onWait(holder)
    isReported = true
  }
  /** One look, and what follows from it: the lease, or milliseconds until the next look; undefined to give up. */
  const look = async (current: LeasePort): Promise<WonLease | number | undefined> => {
    const sent = tenure.now()
    const sight = await current.look(hasLock)
    ;({ hasLock } = sight)
    const { row } = sight
    const decision = taker.decide({ ...sight, sentAt: sent.monotonic, receivedAt: clock.monotonic() })
    if (decision === 'take') {
      if (isReported) await current.dismiss([self.server]).catch(() => undefined)
      if (row === undefined) return { port: current, hasLock, taken: undefined, sent }
      const claimed = tenure.now()
      const taken = await current.take(self, row)
      if (taken !== undefined) return { port: current, hasLock, taken, sent: claimed }
    }
    if (!waits && !hasLock) return undefined
    wait(row)
    if (decision === 'evict') {
      log.warn({ holder: row?.host, pid: row?.pid }, 'the holder of the writer lease gives no sign of life')
      await current.evict()
    }
    // Who waits is shown to operators; a database that cannot store it may still be taken over later.
    if (waits)
      await current.attend(self).catch((error) => log.debug({ err: error }, 'this server could not be recorded'))
    if (decision !== 'unlock') return times.poll
    hasLock = false
    await current.unlock()
    // The holder is alive and tries with each of its beats.
    return waits ? 2 * times.beat : undefined
  }

  try {
    for (;;) {
      signal?.throwIfAborted()
      let ms: number = times.poll
      try {
        port ??= await connect(signal)
        const found = await look(port)
        if (found === undefined) port.close()
        if (typeof found !== 'number') return found
        ms = found
      } catch (error) {
        signal?.throwIfAborted()
        if (!isReported) throw error
        log.debug({ err: error }, 'the writer lease cannot be looked at')
        port?.close()
        port = undefined
        hasLock = false
        taker.restart()
      }
      await pause(clock, ms, signal, port?.woken())
    }
  } catch (error) {
    if (isReported) await port?.dismiss([self.server]).catch(() => undefined)
    port?.close()
    throw error
  }
}
