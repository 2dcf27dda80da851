/**
 * How long the main thread of this process works at most before it looks for what else there is: in CPU time of the
 * thread, which is the same however busy the machine is with others.
 */
const EVERY_MS = 2

export interface Turns {
  /** Milliseconds of the longest turns since this was asked last: the longest, and all that took 20 and more. */
  take(): { readonly most: number; readonly long: readonly number[] }
  stop(): void
}

const LONG_MS = 20

export const watchTurns = (): Turns => {
  const now = (): number => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1000
  }
  let last = now()
  let most = 0
  let long: number[] = []
  const look = (): void => {
    const current = now()
    const took = current - last
    last = current
    if (took > most) most = took
    if (took > LONG_MS) long.push(took)
  }
  const timer = setInterval(look, EVERY_MS)
  timer.unref()
  return {
    take() {
      look()
      const taken = { most, long }
      most = 0
      long = []
      return taken
    },
    stop: () => clearInterval(timer),
  }
}
