/**
 * Counts unknown tokens per address within a minute. The table has a maximum size: the address whose last failure is
 * oldest is removed first.
 */
import type { Clock } from '../../kernel/index.ts'
import { networkOf } from './caller-key.ts'
import { AuthFailures } from './errors.ts'
import type { AuthFailureLimit } from './service.ts'

const MINUTE_MS = 60_000
const MAX_TIMES = 1_000_000 // of all addresses together, about 8 MB
const MIN_ADDRESSES = 1_000
const MAX_ADDRESSES = 20_000

export const createAuthFailures = (clock: Clock, perMinute: number): AuthFailureLimit => {
  const most = Math.min(MAX_ADDRESSES, Math.max(MIN_ADDRESSES, Math.floor(MAX_TIMES / perMinute)))
  /**
   * By address, the times of the failures of the last minute, oldest first; the address that failed last at the end.
   */
  const failures = new Map<string, number[]>()

  const recent = (key: string, now: number): number[] => {
    const times = failures.get(key) ?? []
    const first = times.findIndex((time) => now - time < MINUTE_MS)
    return first === -1 ? [] : times.slice(first)
  }
  return {
    begin({ address }) {
      const now = clock.monotonic()
      const key = networkOf(address)
      const times = recent(key, now)
      const [oldest] = times
      if (times.length >= perMinute && oldest !== undefined) {
        const seconds = Math.max(1, Math.ceil((oldest + MINUTE_MS - now) / 1000))
        return AuthFailures(seconds).with({ headers: { 'retry-after': String(seconds) } })
      }
      failures.delete(key)
      if (failures.size >= most) failures.delete(failures.keys().next().value as string)
      failures.set(key, [...times, now])
      return undefined
    },
    succeeded({ address }) {
      const key = networkOf(address)
      const times = failures.get(key)
      times?.pop()
      if (times?.length === 0) failures.delete(key)
    },
  }
}
