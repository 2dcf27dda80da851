/** Leaves the events of a server that stops before its database was open to the one that writes. */
import type { Clock, Random } from '../../../kernel/index.ts'
import type { Database } from '../../database/service.ts'
import type { KeyRing } from '../chain/key.ts'
import type { TrailEvent } from '../event.ts'
import { createInboxWriter } from './inbox-writer.ts'

/** Milliseconds in which a failed attempt is repeated; a stop has eight seconds for all plugins. */
const AGAIN_MS = 1_000

export interface LeaveBesideParts {
  readonly database: Pick<Database, 'beside'>
  readonly keys: KeyRing
  readonly clock: Pick<Clock, 'monotonic'>
  readonly random: Random
}

/** The function rejects when the database cannot be reached, or has no trail yet. */
export const createLeaveBeside =
  ({ database, keys, clock, random }: LeaveBesideParts) =>
  async (events: readonly TrailEvent[]): Promise<void> => {
    const writer = createInboxWriter({
      database: {
        get: (statement, params) => database.beside(async (session) => session.get(statement, params)),
        transact: (work) => database.beside(async (session) => work(session)),
      },
      keys,
      server: random.id(),
    })
    const waits = new AbortController()
    await writer.open(waits.signal, () => waits.abort(new Error('the database has no audit trail yet')))
    const began = clock.monotonic()
    try {
      await writer.write(events)
    } catch (error) {
      // If only the answer was lost, the row is stored already, and inserting the same row again does nothing.
      if (clock.monotonic() - began > AGAIN_MS) throw error
      await writer.write(events)
    }
  }
