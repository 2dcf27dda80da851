/**
 * Returns the memory that a start has used. V8 lets its young generation grow to 32 MB while the start allocates, collects
 * only when something is allocated, and so keeps it in a server that nobody asks anything.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const CHECK_MS = 1_000
const IDLE = 0.05 // share of a check's time in which the event loop worked

export interface CollectParts {
  /** Share of the time since the last call in which the event loop worked, 0 to 1. */
  readonly utilization: () => number
  /** Calls `work` after each `ms`, until the returned function is called. */
  readonly repeat: (ms: number, work: () => void) => () => void
  readonly collect: () => void
}

/** Collects once, after the first second in which the process was idle. The returned function gives up. */
export const collectWhenIdle = ({ utilization, repeat, collect }: CollectParts): (() => void) => {
  utilization()
  const stop = repeat(CHECK_MS, () => {
    if (utilization() > IDLE) return
    stop()
    collect()
  })
  return stop
}

/**
 * A full collection that also shrinks the young generation: about a tenth of a second of a heap of 40 MB. It removes the
 * shapes (maps) of which no object lives, and code that was compiled for them stays slower for as long as the process runs.
 */
const collectAll = (): void => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (options: { type: 'major'; flavor: 'last-resort' }) => void
  collect({ type: 'major', flavor: 'last-resort' })
}

/** The parts of this process. Its timer keeps no process alive. */
export const processParts = (): CollectParts => {
  let last = performance.eventLoopUtilization()
  return {
    utilization() {
      const now = performance.eventLoopUtilization()
      const { utilization } = performance.eventLoopUtilization(now, last)
      last = now
      return utilization
    },
    repeat(ms, work) {
      const timer = setInterval(work, ms).unref()
      return () => clearInterval(timer)
    },
    collect: collectAll,
  }
}
