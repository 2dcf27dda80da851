/** Sees whether the servers that work on jobs are alive: by beats, on the monotonic clock of this server. */
import type { Clock } from '../../kernel/index.ts'
import type { OwnProcess } from '../database/service.ts'
import { isWorkerGone } from './server-text.ts'
import type { JobRow } from './tables.ts'

interface Seen {
  readonly starts: number
  readonly beat: number
  readonly since: number
}

export interface LeaseWatch {
  /** To be called with all jobs that run. Returns those whose lease has run out. */
  lapsed(running: readonly JobRow[]): readonly JobRow[]
}

/** `isSole`: nobody else can have this database open, so whoever else worked on a job is gone. */
export const createLeaseWatch = (
  clock: Clock,
  leaseMs: number,
  self: OwnProcess,
  ownText: string,
  isSole: boolean,
): LeaseWatch => {
  let seen = new Map<string, Seen>()
  return {
    lapsed(running) {
      const now = clock.monotonic()
      const next = new Map<string, Seen>()
      const found = running.filter(({ id, server, starts, beat }) => {
        const before = seen.get(id)
        const isSame = before?.beat === beat && before.starts === starts
        const since = isSame ? before.since : now
        next.set(id, { starts, beat, since })
        if (now - since >= leaseMs) return true
        return server !== ownText && (isSole || isWorkerGone(self, server))
      })
      seen = next
      return found
    },
  }
}
