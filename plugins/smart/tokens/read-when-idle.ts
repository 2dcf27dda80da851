/**
 * Reads the access changes on PostgreSQL also while there are no requests. After a longer pause all tokens would have to be
 * read again.
 */
import { type Clock, every, type Lifecycle, type Repeating } from '../../../kernel/index.ts'
import type { Database } from '../../database/service.ts'
import type { AccessChanges } from './access-changes.ts'

const EACH_MS = 2_000

export const readWhenIdle = (
  database: Pick<Database, 'kind'>,
  clock: Clock,
  changes: Pick<AccessChanges, 'age' | 'read'>,
): Lifecycle => {
  let repeating: Repeating | undefined
  const read = async (): Promise<void> => {
    if (changes.age() >= EACH_MS) await changes.read()
  }
  return {
    start: async () => {
      if (database.kind !== 'postgres') return
      // The next request reads again and reports the error.
      repeating = every(clock, EACH_MS, read, () => undefined)
    },
    stop: async () => repeating?.stop(),
  }
}
