/** Counts a change of the columns or of the posted SearchParameters, and publishes that to every server. */
import type { MaybePromise, Transaction } from '../../database/service.ts'
import { nextGeneration } from './tables.ts'

export const countGeneration = (transaction: Pick<Transaction, 'publish' | 'run'>): MaybePromise<void> => {
  transaction.publish({ about: 'search-columns' })
  return transaction.run(nextGeneration, [])
}
