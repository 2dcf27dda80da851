/** UTC days and months, whatever the time zone of the server. */

const DAY_MS = 86_400_000

export interface Periods {
  /** `2026-11-21` */
  readonly day: string
  /** `2026-11` */
  readonly month: string
  /** When the day begins, milliseconds since the epoch. */
  readonly start: number
}

const periodsAt = (time: number): Periods => {
  const start = Math.floor(time / DAY_MS) * DAY_MS
  const day = new Date(start).toISOString().slice(0, 10)
  return { day, month: day.slice(0, 7), start }
}

/** Returns the periods of a time; the same object for all times of a day. */
export const createCalendar = (): ((time: number) => Periods) => {
  let current: Periods | undefined
  return (time) => {
    if (current === undefined || time < current.start || time >= current.start + DAY_MS) current = periodsAt(time)
    return current
  }
}

/** Whole seconds until the next day, or the first of the next month, begins in UTC; at least 1. */
export const secondsLeft = (span: 'day' | 'month', time: number): number => {
  const now = new Date(time)
  const end =
    span === 'day'
      ? Math.floor(time / DAY_MS) * DAY_MS + DAY_MS
      : Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)
  return Math.max(1, Math.ceil((end - time) / 1000))
}
