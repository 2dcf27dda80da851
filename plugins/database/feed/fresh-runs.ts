/** Runs that do not overlap, of which a caller waits for one that begins after its call. */
export interface FreshRuns {
  /** Resolves or rejects with a run that begins after this call; at once when they were stopped. */
  fresh(): Promise<void>
  /** The same without waiting. Its failure is not reported. */
  soon(): void
  /** No run begins any more. Resolves when the one under way has ended. */
  stop(): Promise<void>
}

export const createFreshRuns = (run: () => Promise<void>): FreshRuns => {
  let running: Promise<void> | undefined
  let next: Promise<void> | undefined
  let isStopped = false
  const begin = (): Promise<void> => {
    if (isStopped) return Promise.resolve()
    running = run().finally(() => {
      running = undefined
    })
    return running
  }
  const fresh = (): Promise<void> => {
    if (running === undefined) return begin()
    next ??= running
      .catch(() => undefined)
      .then(() => {
        next = undefined
        return begin()
      })
    return next
  }
  return {
    fresh,
    soon: () => void fresh().catch(() => undefined),
    async stop() {
      isStopped = true
      await running?.catch(() => undefined)
    },
  }
}
