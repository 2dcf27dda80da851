/**
 * Limits events of refusals of unknown callers: a number of them per second are recorded one by one, the others are
 * only counted. Spec: Events 1. Refusals that find no place in the queue are counted, too.
 */
export interface AnonymousRefusalThrottle {
  /** True when this refusal gets an event of its own; otherwise counts it. */
  admits(now: number, status: number): boolean
  /** Counts a refusal that gets no event of its own. */
  count(status: number): void
  /** The number of refusals that were only counted since the last call, by status. */
  take(): ReadonlyMap<number, number>
}

/** With `perSecond` 0 every refusal gets an event. */
export const createAnonymousRefusalThrottle = (perSecond: number): AnonymousRefusalThrottle => {
  let second = Number.NaN
  let admitted = 0
  let counted = new Map<number, number>()
  const count = (status: number): void => void counted.set(status, (counted.get(status) ?? 0) + 1)
  return {
    count,
    admits(now, status) {
      const current = Math.floor(now / 1000)
      if (current !== second) {
        second = current
        admitted = 0
      }
      if (perSecond === 0 || admitted < perSecond) {
        admitted += 1
        return true
      }
      count(status)
      return false
    },
    take() {
      const taken = counted
      counted = new Map()
      return taken
    },
  }
}
