/** Divides long work into parts of some milliseconds, so that the event loop can answer other requests in between. */

const MAX_MS = 8

/**
 * Returns a function to await after each item of work. It yields to the event loop when 8 ms have passed since it last
 * did, and then calls `report`.
 */
export const createPause = (report?: () => void): (() => Promise<void> | undefined) => {
  let since = performance.now()
  const giveWay = async (): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve))
    since = performance.now()
    report?.()
  }
  return () => (performance.now() - since < MAX_MS ? undefined : giveWay())
}
