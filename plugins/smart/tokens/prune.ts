/** Removes what has expired every five minutes: tokens, identifiers of assertions, and what logins leave. */
import { type Clock, every, type Logger, type Repeating } from '../../../kernel/index.ts'
import type { Database } from '../../database/service.ts'
import { pruneGrants, pruneLogins } from '../login-tables.ts'
import { pruneJtis, pruneTokens } from '../tables.ts'
import { pruneAccessChanges } from './access-change-tables.ts'

const EACH_MS = 5 * 60_000
const CHANGES = 10_000 // numbers kept of the list of changes: many times what a second brings
const EXPIRED_MS = 3_600_000 // how long an expired token is answered with `TokenExpired`; then it is deleted

export const createPruning = (database: Database, clock: Clock, log: Logger) => {
  let repeating: Repeating | undefined
  const prune = (): Promise<void> =>
    database.transact(async (transaction) => {
      await transaction.run(pruneTokens, [clock.now() - EXPIRED_MS])
      await transaction.run(pruneJtis, [clock.now()])
      for (const statement of pruneLogins) await transaction.run(statement, [clock.now()])
      await transaction.run(pruneAccessChanges, [CHANGES])
      // A code that is used again within the hour revokes its grant.
      for (const statement of pruneGrants) await transaction.run(statement, [clock.now() - EXPIRED_MS])
    })
  return {
    start: async (): Promise<void> => {
      repeating = every(clock, EACH_MS, prune, (error) => log.error({ err: error }, 'expired tokens are not removed'))
    },
    stop: async (): Promise<void> => repeating?.stop(),
  }
}
