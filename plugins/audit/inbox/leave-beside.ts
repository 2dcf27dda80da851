/** Leaves the events of a server that stops before its database was open to the one that writes. */
import type { Random } from '../../../kernel/index.ts'
import type { Database } from '../../database/service.ts'
import type { KeyRing } from '../chain/key.ts'
import type { TrailEvent } from '../event.ts'
import { createInboxWriter, type InboxDatabase } from './inbox-writer.ts'

export interface LeaveBesideParts {
  readonly database: Pick<Database, 'beside'>
  readonly keys: KeyRing
  readonly random: Random
}

/** The function rejects when the database cannot be reached, or has no trail yet. */
export const createLeaveBeside =
  ({ database, keys, random }: LeaveBesideParts) =>
  (events: readonly TrailEvent[]): Promise<void> =>
    database.beside(async (session) => {
      const place: InboxDatabase = { get: session.get, transact: async (work) => work(session) }
      const writer = createInboxWriter({ database: place, keys, server: random.id() })
      const waits = new AbortController()
      await writer.open(waits.signal, () => waits.abort())
      await writer.write(events)
    })
