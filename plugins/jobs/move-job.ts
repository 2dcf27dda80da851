/** The one function that changes the state of a job. */
import type { Transaction } from '../database/service.ts'
import { type JobRow, type JobState, moveJob } from './tables.ts'

/** The state before, and the states that may follow. */
const FOLLOWING: Readonly<Record<JobState, readonly JobState[]>> = {
  queued: ['running', 'failed', 'cancelled'],
  // To itself: another server takes over. To queued: a graceful stop, or an attempt that failed.
  running: ['running', 'queued', 'finished', 'failed', 'cancelled'],
  finished: [],
  failed: [],
  cancelled: [],
}

/** The state that is left. Without `beat` it may have changed since: the caller is the one who works on the job. */
export type From = Pick<JobRow, 'id' | 'state' | 'server' | 'starts'> & { readonly beat?: number }

export interface To {
  readonly state: JobState
  readonly server?: string
  readonly starts?: number
  readonly error?: string
  /** Milliseconds since the epoch. */
  readonly ended?: number
  readonly expires?: number
}

/** Resolves to false where the job has left that state meanwhile. Throws for a change that the table does not know. */
export const move = async (transaction: Transaction, from: From, to: To): Promise<boolean> => {
  if (!FOLLOWING[from.state].includes(to.state)) throw new Error(`a job that is ${from.state} cannot be ${to.state}`)
  const { state, server = '', starts = from.starts, error = '', ended = 0, expires = 0 } = to
  const isAny = from.beat === undefined ? 1 : 0
  const moved = await transaction.get(moveJob, [
    ...[state, server, starts, error, ended, expires],
    ...[from.id, from.state, from.server, from.starts, from.beat ?? 0, isAny],
  ])
  return moved !== undefined
}
