/** Ids that are the same in each run, for two servers whose results are compared. */
import type { Random } from '../../kernel/index.ts'

export const createCountedRandom = (): Random => {
  let count = 0
  return {
    id() {
      count += 1
      return `00000000-0000-4000-8000-${String(count).padStart(12, '0')}`
    },
  }
}
