/**
 * Counts the usage of requests in memory. Called after the last byte of each; costs two look-ups and three additions.
 */
import type { RequestClass, Usage } from '../../kernel/index.ts'

const DAY_MS = 86_400_000

export interface Counted {
  requests: number
  bytesIn: number
  bytesOut: number
}

/** Client → class → its usage. */
type Day = Map<string, Partial<Record<RequestClass, Counted>>>

/** Usage by UTC day, `2026-11-21`. */
export type Counts = ReadonlyMap<string, Day>

export interface Counters {
  count(usage: Usage): void
  /** Removes and returns the counts, to be stored. */
  take(): Counts
  /** Adds counts back that could not be stored. */
  giveBack(counts: Counts): void
}

export const createCounters = (): Counters => {
  let days = new Map<string, Day>()
  let current: { readonly start: number; readonly counts: Day } | undefined

  const dayAt = (time: number): Day => {
    if (current !== undefined && time >= current.start && time < current.start + DAY_MS) return current.counts
    const start = Math.floor(time / DAY_MS) * DAY_MS
    const name = new Date(start).toISOString().slice(0, 10)
    const counts = days.get(name) ?? new Map()
    days.set(name, counts)
    current = { start, counts }
    return counts
  }
  const add = (day: Day, client: string, requestClass: RequestClass, more: Counted): void => {
    let classes = day.get(client)
    if (classes === undefined) {
      classes = {}
      day.set(client, classes)
    }
    const counted = classes[requestClass]
    if (counted === undefined) {
      classes[requestClass] = { ...more }
      return
    }
    counted.requests += more.requests
    counted.bytesIn += more.bytesIn
    counted.bytesOut += more.bytesOut
  }
  return {
    count({ request: { caller, requestClass, startedAt }, relayed, bytesIn, bytesOut }) {
      if (relayed === 'received') return // counted by the server that sent it
      const day = dayAt(startedAt)
      const client = caller.client ?? ''
      const counted = day.get(client)?.[requestClass]
      if (counted === undefined) return add(day, client, requestClass, { requests: 1, bytesIn, bytesOut })
      counted.requests += 1
      counted.bytesIn += bytesIn
      counted.bytesOut += bytesOut
    },
    take() {
      const taken = days
      days = new Map()
      current = undefined
      return taken
    },
    giveBack(counts) {
      for (const [name, clients] of counts) {
        const day = days.get(name) ?? new Map()
        days.set(name, day)
        for (const [client, classes] of clients)
          for (const [requestClass, counted] of Object.entries(classes))
            add(day, client, requestClass as RequestClass, counted)
      }
    },
  }
}
