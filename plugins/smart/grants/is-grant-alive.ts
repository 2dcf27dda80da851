/** Whether a grant and the session it depends on are still there. */
import type { GrantState } from '../login-tables.ts'

/** True for a token without a grant. `now` is in milliseconds since the epoch. */
export const isGrantAlive = (row: GrantState, now: number): boolean =>
  row.grant_id === null ||
  (row.grant_expires_at !== null &&
    Number(row.grant_expires_at) > now &&
    row.revoked_at === null &&
    (row.session_hash === null || (row.session_expires_at !== null && Number(row.session_expires_at) > now)))
