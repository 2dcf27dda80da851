/**
 * Measures how long the main thread works at most before it returns to the event loop: in CPU time of the thread, which
 * other load on the machine does not change.
 */
const EVERY_MS = 2

export interface Turns {
  /** CPU milliseconds since the last call: the longest turn of the event loop, and all turns of 20 ms and more. */
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
