/**
 * This server's part of every limit. A server that joins others does not fill its buckets at first: until the others
 * have seen it and reduced their parts, additional tokens would exceed the limit.
 */
import type { Clock } from '../../kernel/index.ts'

export interface ServerShare {
  /** 1 for one server, 1/3 for three. */
  readonly fraction: number
  /** Total milliseconds so far in which no bucket was filled. */
  pausedMs(): number
  /** Approximate milliseconds until buckets are filled again; 0 if they are. */
  remainingPauseMs(): number
}

export const fixedShare = (servers: number): ServerShare => ({
  fraction: 1 / servers,
  pausedMs: () => 0,
  remainingPauseMs: () => 0,
})

export interface CountedServerShare extends ServerShare {
  /** Sets the number of servers that are alive; `joining` while others do not know of this one yet. */
  set(servers: number, joining: boolean): void
}

/** `joinMs`: milliseconds that joining usually takes. */
export const createCountedShare = (clock: Clock, joinMs: number): CountedServerShare => {
  let fraction = 1
  let paused = 0
  let pausedSince: number | undefined
  const pausedMs = (): number => paused + (pausedSince === undefined ? 0 : clock.monotonic() - pausedSince)
  return {
    get fraction() {
      return fraction
    },
    pausedMs,
    remainingPauseMs: () => (pausedSince === undefined ? 0 : Math.max(0, pausedSince + joinMs - clock.monotonic())),
    set(servers, joining) {
      fraction = 1 / servers
      if (joining) pausedSince ??= clock.monotonic()
      else if (pausedSince !== undefined) {
        paused = pausedMs()
        pausedSince = undefined
      }
    },
  }
}
