/** Creates the service `Resources`, which opens sessions. */
import { createChange, type SessionChangeParts } from './change.ts'
import { createReads, type SessionReadsParts } from './reads.ts'
import type { Resources } from './resources.ts'
import { createSeat, type Seat, type SeatParts } from './seat.ts'
import type { Session } from './session.ts'
import { createTransactionOf, type SessionTransactionParts } from './transaction.ts'

export interface ResourcesParts extends SeatParts {
  /** Returns the parts once the server has started. */
  readonly late: () => SessionReadsParts & SessionChangeParts & SessionTransactionParts
}

export const createResources = (parts: ResourcesParts): Resources => {
  const { late } = parts
  const createSession = (seat: Seat): Session => ({
    ...createReads(late, seat),
    change: createChange(late, seat),
    transaction: createTransactionOf(late, seat),
  })
  return { as: (who) => createSession(createSeat(parts, who)) }
}
