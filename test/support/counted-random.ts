/** Ids that are the same each time: for two servers that are to do the same. */
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
