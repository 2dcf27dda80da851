/** Refusals of callers nobody knows: so many a second are told one by one, the others are counted. Spec: Events 1. */
export interface Sampler {
  /** True when this one is told by itself. */
  admits(now: number): boolean
  /** How many were only counted since the last call; 0 when none. */
  take(): number
}

/** `perSecond` 0 tells every one. */
export const createSampler = (perSecond: number): Sampler => {
  let second = Number.NaN
  let told = 0
  let counted = 0
  return {
    admits(now) {
      const current = Math.floor(now / 1000)
      if (current !== second) {
        second = current
        told = 0
      }
      if (perSecond === 0 || told < perSecond) {
        told += 1
        return true
      }
      counted += 1
      return false
    },
    take() {
      const count = counted
      counted = 0
      return count
    },
  }
}
