/** Transactions that were made from what another server has changed since: they are made again. */
import { type Database, isOutdated } from '../database/service.ts'

const MAX_ATTEMPTS = 5 // as often as something may change meanwhile

/** The database, whose transactions run again after `lookAgain` where they reject with Outdated. */
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
