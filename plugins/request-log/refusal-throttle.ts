/**
 * Keeps the flood of refusals out of the database: so many rows of a second are kept, the others are counted by status.
 * Spec: [request_log] refused_per_second.
 */
import type { Usage } from '../../kernel/index.ts'

const SECOND_MS = 1_000
const THROTTLED = 429

/** How many of a second ended with a status, beyond those that are kept. */
export interface RefusalCounts {
  /** Beginning of the second, milliseconds since the epoch. */
  readonly time: number
  readonly status: number
  count: number
  bytesIn: number
  bytesOut: number
}

export interface RefusalThrottle {
  /** True for a request whose row is to be kept; otherwise it was counted. */
  keeps(usage: Usage): boolean
  /** Takes the summaries until now. */
  take(): readonly RefusalCounts[]
}

const isLimited = ({ status, request: { caller } }: Usage): boolean =>
  status === THROTTLED || (status >= 400 && caller.kind === 'anonymous')

/** `perSecond` of 0 keeps every one. */
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
