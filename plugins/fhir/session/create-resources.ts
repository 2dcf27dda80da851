/** Sessions over one server. */
import { createChange } from './change.ts'
import { createReads } from './reads.ts'
import type { Resources } from './resources.ts'
import { createSeat, type Seat, type SeatParts } from './seat.ts'
import type { Session } from './session.ts'

const createSession = (seat: Seat): Session => ({ ...createReads(seat), change: createChange(seat) })

export const createResources = (parts: SeatParts): Resources => ({
  as: (who) => createSession(createSeat(parts, who)),
})
