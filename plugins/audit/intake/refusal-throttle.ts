/** Refusals of callers nobody knows: so many a second are told one by one, the others are counted. Spec: Events 1. */
export interface AnonymousRefusalThrottle {
  /** True when this one is told by itself. Counts it otherwise. */
  admits(now: number, status: number): boolean
  /** How many were only counted since the last call, by status. */
  take(): ReadonlyMap<number, number>
}

/** `perSecond` 0 tells every one. */
export const createAnonymousRefusalThrottle = (perSecond: number): AnonymousRefusalThrottle => {
  let second = Number.NaN
  let told = 0
  let counted = new Map<number, number>()
  return {
    admits(now, status) {
      const current = Math.floor(now / 1000)
      if (current !== second) {
        second = current
        told = 0
      }
      if (perSecond === 0 || told < perSecond) {
        told += 1
        return true
      }
      counted.set(status, (counted.get(status) ?? 0) + 1)
      return false
    },
    take() {
      const count = counted
      counted = new Map()
      return count
    },
  }
}
