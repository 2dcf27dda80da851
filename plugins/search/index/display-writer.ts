/** Writes the displays of codes. A display that was committed recently is not written again. */
import { sql, type Transaction } from '../../database/service.ts'
import type { StoredVersion } from '../../storage/service.ts'
import { type IndexEntries, TEXT_COLUMNS } from './index-entries.ts'
import { collect, type Put } from './index-row-writes.ts'
import { insertDisplay } from './tables.ts'

const removeDisplay = sql(
  'search.text-remove',
  'DELETE FROM ix_text WHERE param = ? AND txt = ? AND val = ? AND NOT EXISTS (SELECT 1 FROM ix_token x WHERE x.param = ? AND x.val = ?)',
)
const KNOWN_DISPLAYS = 20_000
const NONE: readonly number[] = []

export interface DisplayWriter {
  /** Returns the displays that it wrote. */
  write(transaction: Transaction, promises: Promise<void>[], rows: IndexEntries, put: Put): readonly number[]
  /** Notes that the transaction of this version has written the displays, and may still be rolled back. */
  note(version: StoredVersion, written: readonly number[]): void
  /** Called after COMMIT of the transaction that wrote these versions. */
  committed(versions: readonly StoredVersion[]): void
  /** Called after rows of displays were removed: the cache of written displays is emptied. */
  forget(): void
}

/** Removes the displays that no row of the index has. */
export const removeDisplays = (transaction: Transaction, promises: Promise<void>[], { text }: IndexEntries): void => {
  for (let at = 0; at < text.length; at += TEXT_COLUMNS) {
    const [column, key, value] = [text[at] as number, text[at + 1] as string, text[at + 2] as number]
    collect(promises, transaction.run(removeDisplay, [column, key, value, column, value]))
  }
}

export const createDisplayWriter = (): DisplayWriter => {
  // Displays that were committed recently, so that they need not be written again.
  const displays = new Set<number>()
  // Displays written by transactions that are still open and may be rolled back.
  const unconfirmed = new WeakMap<StoredVersion, readonly number[]>()

  return {
    write(transaction, promises, { text }, put) {
      let written: number[] | undefined
      for (let at = 0; at < text.length; at += TEXT_COLUMNS) {
        const value = text[at + 2] as number
        const column = text[at] as number
        const mixed = value + column
        if (displays.has(mixed)) continue
        written ??= []
        written.push(mixed)
        collect(
          promises,
          put(transaction, insertDisplay, [column, text[at + 1] as string, value, text[at + 3] as string | null]),
        )
      }
      return written ?? NONE
    },
    note: (version, written) => void unconfirmed.set(version, written),
    committed(versions) {
      for (const version of versions) {
        const written = unconfirmed.get(version)
        if (written === undefined) continue
        if (displays.size >= KNOWN_DISPLAYS) displays.clear()
        for (const one of written) displays.add(one)
        unconfirmed.delete(version)
      }
    },
    forget: () => displays.clear(),
  }
}
