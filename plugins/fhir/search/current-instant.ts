/** The current time as FHIR writes it, made once for the answers of a millisecond. */
import type { Clock } from '../../../kernel/index.ts'

/** The function returns `2026-11-22T01:30:00.000Z`. */
export const createCurrentInstant = (clock: Pick<Clock, 'now'>): (() => string) => {
  let millis = Number.NaN
  let text = ''
  return () => {
    const now = clock.now()
    if (now !== millis) {
      millis = now
      text = new Date(now).toISOString()
    }
    return text
  }
}
