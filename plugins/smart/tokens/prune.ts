/** Removes expired tokens and identifiers of assertions every five minutes. */
import { type Clock, every, type Logger, type Repeating } from '../../../kernel/index.ts'
import type { Database } from '../../database/service.ts'
import { pruneJtis, pruneTokens } from '../tables.ts'

const EACH_MS = 5 * 60_000
const EXPIRED_MS = 3_600_000 // how long an expired token is answered with `TokenExpired`; then it is deleted

export const createPruning = (database: Database, clock: Clock, log: Logger) => {
  let repeating: Repeating | undefined
  const prune = (): Promise<void> =>
    database.transact(async (transaction) => {
      await transaction.run(pruneTokens, [clock.now() - EXPIRED_MS])
      await transaction.run(pruneJtis, [clock.now()])
    })
  return {
    start: async (): Promise<void> => {
      repeating = every(clock, EACH_MS, prune, (error) => log.error({ err: error }, 'expired tokens are not removed'))
    },
    stop: async (): Promise<void> => repeating?.stop(),
  }
}
