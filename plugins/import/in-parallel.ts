/**
 * Runs up to `parallel` jobs at once, and asks for the next one when there is room. The first error is thrown when those
 * that run have ended; no other job is asked for.
 */
export const inParallel = async (jobs: AsyncIterable<() => Promise<void>>, parallel: number): Promise<void> => {
  const running = new Set<Promise<void>>()
  let failure: { readonly error: unknown } | undefined
  try {
    for await (const job of jobs) {
      const one = job()
        .catch((error) => {
          failure ??= { error }
        })
        .finally(() => running.delete(one))
      running.add(one)
      if (running.size >= parallel) await Promise.race(running)
      if (failure !== undefined) break
    }
  } finally {
    await Promise.all(running)
  }
  if (failure !== undefined) throw failure.error
}
