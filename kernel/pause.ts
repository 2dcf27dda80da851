/** Work in parts of some milliseconds, between which the event loop answers others. */

const MAX_MS = 8

/** To be awaited between two parts: gives way when the last time was long ago. `report` is called after that. */
export const createPause = (report?: () => void): (() => Promise<void> | undefined) => {
  let since = performance.now()
  const giveWay = async (): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve))
    since = performance.now()
    report?.()
  }
  return () => (performance.now() - since < MAX_MS ? undefined : giveWay())
}
