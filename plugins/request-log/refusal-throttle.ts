/**
 * Limits the rows of refusals in the database: so many per second are stored, the others are counted by status. Spec:
 * [request_log] refused_per_second.
 */
import type { Usage } from '../../kernel/index.ts'

const SECOND_MS = 1_000
const THROTTLED = 429

/** The number of refusals in one second with one status, beyond those that are stored. */
export interface RefusalCounts {
  /** Beginning of the second, milliseconds since the epoch. */
  readonly time: number
  readonly status: number
  count: number
  bytesIn: number
  bytesOut: number
}

export interface RefusalThrottle {
  /** True when a request's row is to be stored; otherwise it is counted. */
  keeps(usage: Usage): boolean
  /** Removes and returns the counts so far. */
  take(): readonly RefusalCounts[]
}

const isLimited = ({ status, request: { caller } }: Usage): boolean =>
  status === THROTTLED || (status >= 400 && caller.kind === 'anonymous')

/** With `perSecond` 0 every row is stored. */
export const createRefusalThrottle = (perSecond: number): RefusalThrottle => {
  let second = Number.NaN
  let kept = 0
  let summaries = new Map<string, RefusalCounts>()
  return {
    keeps(usage) {
      if (perSecond === 0 || !isLimited(usage)) return true
      const { status, bytesIn, bytesOut, request } = usage
      const now = Math.floor(request.startedAt / SECOND_MS)
      if (now !== second) {
        second = now
        kept = 0
      }
      if (kept < perSecond) {
        kept += 1
        return true
      }
      const key = `${now} ${status}`
      const summary = summaries.get(key)
      if (summary === undefined) summaries.set(key, { time: now * SECOND_MS, status, count: 1, bytesIn, bytesOut })
      else {
        summary.count += 1
        summary.bytesIn += bytesIn
        summary.bytesOut += bytesOut
      }
      return false
    },
    take() {
      const taken = [...summaries.values()]
      summaries = new Map()
      return taken
    },
  }
}
