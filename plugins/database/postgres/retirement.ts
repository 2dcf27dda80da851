/**
 * Decides when read-only sessions are replaced: at once the first time, then at growing intervals. While the database
 * stays read-only new sessions are so too, and every refused write requests a replacement.
 */
export interface Retirement {
  /** Requests a replacement: it happens now, or when the interval is over. */
  ask(): void
  /** Resolves when they have been replaced; undefined when no replacement is scheduled. */
  readonly coming: Promise<void> | undefined
}

export interface RetirementOptions {
  /** Milliseconds on a clock that never goes back. */
  readonly now: () => number
  readonly retire: () => void
  readonly shortestMs: number
  readonly longestMs: number
}

export const createRetirement = ({ now, retire, shortestMs, longestMs }: RetirementOptions): Retirement => {
  let pauseMs = shortestMs
  let from = Number.NEGATIVE_INFINITY
  let coming: Promise<void> | undefined
  const begin = (): void => {
    const time = now()
    // After longestMs without a request, this one belongs to another outage.
    pauseMs = time > from + longestMs ? shortestMs : Math.min(pauseMs * 2, longestMs)
    from = time + pauseMs
    retire()
  }
  return {
    ask() {
      if (coming !== undefined) return
      const waitMs = from - now()
      if (waitMs <= 0) return begin()
      coming = new Promise((resolve) =>
        setTimeout(() => {
          coming = undefined
          begin()
          resolve()
        }, waitMs),
      )
    },
    get coming() {
      return coming
    },
  }
}
