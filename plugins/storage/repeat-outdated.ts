/** Repeats transactions that used definitions which another server has changed meanwhile. Only PostgreSQL has other servers. */
import { type Database, isOutdated } from '../database/service.ts'

const MAX_ATTEMPTS = 5 // per transaction: definitions may change again before an attempt commits

/** Returns a database whose transactions, if they reject with Outdated, run again after `lookAgain`. The last error is thrown. */
export const repeatOutdated = (database: Database, lookAgain: () => Promise<void>): Database => {
  if (database.kind !== 'postgres') return database
  const transact: Database['transact'] = async (work, options) => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await database.transact(work, options)
      } catch (error) {
        if (!isOutdated(error) || attempt === MAX_ATTEMPTS) throw error
        await lookAgain()
      }
    }
  }
  return Object.create(database, { transact: { value: transact, enumerable: true } })
}
