/** Decides when columns that no parameter uses any more may be removed. */
import type { Clock } from '../../../../kernel/index.ts'
import type { ColumnRow } from '../columns.ts'

/** Time between the moment a column is no longer used and its removal. Other servers notice within LOOK_MS. */
const GRACE_MS = 60_000

export interface UnusedColumns {
  /** `due`: unused columns that can be removed now. `later`: milliseconds until the next one can be. */
  due(gone: readonly ColumnRow[]): { readonly due: readonly ColumnRow[]; readonly later: number | undefined }
  /** Called when the column was removed. */
  removed(column: ColumnRow): void
}

/** `shared`: other servers may use the same database. */
export const createUnusedColumns = (clock: Clock, shared: boolean): UnusedColumns => {
  // When this process first saw that a column is no longer used, in milliseconds of the monotonic clock.
  const goneSince = new Map<number, number>()

  return {
    due(gone) {
      const now = clock.monotonic()
      const due: ColumnRow[] = []
      let later: number | undefined
      for (const column of gone) {
        const since = goneSince.get(column.code) ?? now
        goneSince.set(column.code, since)
        const left = shared ? since + GRACE_MS - now : 0
        if (left <= 0) due.push(column)
        else later = Math.min(later ?? left, left)
      }
      return { due, later }
    },
    removed: ({ code }) => void goneSince.delete(code),
  }
}
