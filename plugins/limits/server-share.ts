/**
 * The part of every limit that is this server's. A server that joins others begins with what its buckets hold and no
 * more: until the others have seen it and taken less, what it added would be beyond the limit.
 */
import type { Clock } from '../../kernel/index.ts'

export interface ServerShare {
  /** 1 of one server, 1/3 of three. */
  readonly fraction: number
  /** Milliseconds until now in which no bucket was filled. */
  pausedMs(): number
  /** About how long that goes on. */
  remainingPauseMs(): number
}

export const fixedShare = (servers: number): ServerShare => ({
  fraction: 1 / servers,
  pausedMs: () => 0,
  remainingPauseMs: () => 0,
})

export interface CountedServerShare extends ServerShare {
  /** So many servers are alive; `joining` while others do not know of this one yet. */
  set(servers: number, joining: boolean): void
}

/** `joinMs`: how long joining usually takes. */
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
