/**
 * Named checks → starting | ok | unavailable. Spec: States and transitions, readiness of a process.
 * The result of the checks is reused for one second and overlapping probes share one run.
 */
import type { Logger } from 'pino'
import type { Clock } from './clock.ts'

const CHECK_MS = 2_000 // spec: /readyz database check timeout
const REUSE_MS = 1_000 // spec: database result reuse in probes

export type Readiness =
  | { readonly status: 'ok' }
  | { readonly status: 'starting' | 'unavailable'; readonly reason: string }

export interface ReadinessBoard {
  add(plugin: string, reason: string, check: (signal: AbortSignal) => Promise<boolean>): void
  /** What start is busy with; shown until `started`. */
  busy(reason: string): void
  started(): void
  /** Sets the reason for which the server will not become ready any more. */
  failed(reason: string): void
  stopping(): void
  /** What start is busy with; undefined once it is done. */
  readonly starting: string | undefined
  state(): Promise<Readiness>
}

const OK: Readiness = Object.freeze({ status: 'ok' })

export const createReadiness = (clock: Clock, log: Logger): ReadinessBoard => {
  const checks: { plugin: string; reason: string; check: (signal: AbortSignal) => Promise<boolean> }[] = []
  let starting: string | undefined = 'starting'
  let over: Readiness | undefined
  let running: Promise<Readiness> | undefined
  let last: { at: number; state: Readiness } | undefined

  /** One check, false when it fails or takes longer than two seconds. The cause goes to the debug log only. */
  const passes = async ({ plugin, check }: (typeof checks)[number]): Promise<boolean> => {
    const signal = clock.deadline(CHECK_MS)
    const late = new Promise<'late'>((resolve) => signal.addEventListener('abort', () => resolve('late')))
    try {
      const result = await Promise.race([check(signal), late])
      if (result === 'late') log.debug({ plugin }, `the readiness check took longer than ${CHECK_MS} ms`)
      return result === true
    } catch (error) {
      log.debug({ plugin, err: error }, 'readiness check failed')
      return false
    }
  }
  const run = async (): Promise<Readiness> => {
    const results = await Promise.all(checks.map(passes))
    const failed = results.indexOf(false)
    const state: Readiness = failed === -1 ? OK : { status: 'unavailable', reason: checks[failed]!.reason }
    last = { at: clock.monotonic(), state }
    running = undefined
    return state
  }
  return {
    add: (plugin, reason, check) => void checks.push({ plugin, reason, check }),
    busy: (reason) => {
      if (starting !== undefined) starting = reason
    },
    started: () => {
      starting = undefined
    },
    failed: (reason) => {
      over = { status: 'unavailable', reason }
    },
    stopping: () => {
      over = { status: 'unavailable', reason: 'stopping' }
    },
    get starting() {
      return starting
    },
    async state() {
      if (over !== undefined) return over
      if (starting !== undefined) return { status: 'starting', reason: starting }
      if (last !== undefined && clock.monotonic() - last.at < REUSE_MS) return last.state
      running ??= run()
      return running
    },
  }
}
