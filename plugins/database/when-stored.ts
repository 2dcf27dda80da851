/** A server that only reads waits for what another one stores. */
import { systemClock } from '../../kernel/index.ts'
import { pause } from './lease/pause.ts'

const LOOK_MS = 250

/**
 * Looks until there is something. It waits for another process, whose time a test does not move. Rejects with what a look
 * throws, and when the signal aborts.
 */
export const whenStored = async <T>(
  signal: AbortSignal | undefined,
  look: () => Promise<T | undefined>,
  onWait: () => void = () => undefined,
): Promise<T> => {
  for (let isFirst = true; ; isFirst = false) {
    signal?.throwIfAborted()
    const found = await look()
    if (found !== undefined) return found
    if (isFirst) onWait()
    await pause(systemClock, LOOK_MS, signal)
  }
}
