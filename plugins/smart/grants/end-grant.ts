/** Ends a grant in the database, and with it the validity of its tokens. */
import type { Database } from '../../database/service.ts'
import { revokeGrant } from '../login-tables.ts'
import { REVOKED } from '../tokens/revoked.ts'

/** `now`: milliseconds since the epoch. Resolves after COMMIT. */
export const endGrant = (database: Database, grantId: Uint8Array, now: number): Promise<void> =>
  database.transact((transaction) => {
    transaction.publish(REVOKED)
    return transaction.run(revokeGrant, [now, grantId])
  })
