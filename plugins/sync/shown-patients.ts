/** The audit events of deltas: one for each patient whose data a connection is shown, in ten seconds. */
import type { Clock, Runners } from '../../kernel/index.ts'
import type { ConnectionAccess } from './connection-access.ts'
import type { ResourceDelta } from './judged-change.ts'

const EVERY_MS = 10_000
const MAX_PATIENTS = 10_000 // patients of one connection; more are recorded again

export interface ShownPatients {
  /**
   * True where the delta may be sent. `onLate` is called where the event could not be stored, which may come out later.
   */
  record(
    access: ConnectionAccess,
    query: { readonly type: string; readonly text: string },
    delta: ResourceDelta,
    onLate: () => void,
  ): boolean
}

export const createShownPatients = (run: Pick<Runners, 'onAudit'>, clock: Clock): ShownPatients => {
  const recorded = new Map<string, number>()
  return {
    record(access, query, delta, onLate) {
      if (run.onAudit === null) return true
      const now = clock.monotonic()
      const patients = delta.patients()
      const isDue = (one: string): boolean => now - (recorded.get(one) ?? Number.NEGATIVE_INFINITY) >= EVERY_MS
      // What is of no patient is recorded as well, under a name that no reference has.
      const due = (patients.length === 0 ? [''] : patients).filter(isDue)
      if (due.length === 0) return true
      if (recorded.size > MAX_PATIENTS) recorded.clear()
      for (const one of due) recorded.set(one, now)
      const named = due.filter((one) => one !== '')
      const { type, text } = query
      try {
        run
          .onAudit({
            request: access.request(),
            interaction: { kind: 'search-type', type },
            status: 200,
            details: { patients: () => named, query: () => text },
          })
          ?.catch(onLate)
        return true
      } catch {
        onLate()
        return false
      }
    },
  }
}
