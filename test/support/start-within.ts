/** Starts a server, and fails with the reason where it is not ready in time. */
import type { Kernel } from '../../kernel/index.ts'

const START_MS = 60_000 // on a machine with other work; a start takes less than a second

/** A server that waits for the writer lease of another one would wait until the time of the test file ends. */
export const startWithin = async (kernel: Pick<Kernel, 'start' | 'stop' | 'readiness'>): Promise<void> => {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(async () => {
    const state = await kernel.readiness()
    void kernel.stop()
    reject(new Error(`the server is not ready after ${START_MS / 1000} s: ${JSON.stringify(state)}`))
  }, START_MS)
  try {
    await Promise.race([kernel.start(), late])
  } finally {
    clearTimeout(timer)
  }
}
