/**
 * Erases the superseded versions of a resource, with what was derived from them. The current version stays; where that is a
 * deletion, it has no content.
 */
import type { Transaction } from '../database/service.ts'
import type { ChangeObserver } from './change-observer.ts'
import { erasePastVersions, readPastVersions, type VersionRow } from './tables.ts'
import { StoredVersion } from './version.ts'
import type { VersionStore } from './version-store.ts'

/** Returns how many versions were erased, undefined where there never was such a resource. It locks the resource. */
export type ErasePast = (transaction: Transaction, type: string, id: string) => Promise<number | undefined>

export const createErasePast =
  (store: Pick<VersionStore, 'lock' | 'types'>, observer: ChangeObserver): ErasePast =>
  async (transaction, type, id) => {
    const current = await store.lock(transaction, type, id)
    if (current === undefined) return undefined
    const { rid } = current
    let erased = 0
    for (let behind = 0; ; ) {
      const rows = await transaction.all<Omit<VersionRow, 'type' | 'id'>>(readPastVersions, [rid, behind])
      const last = rows.at(-1)
      if (last === undefined) return erased
      const versions = rows.map((row) => new StoredVersion(type, { ...row, type: store.types.code(type) ?? 0, id }))
      await observer.erase?.(
        transaction,
        versions.filter(({ deleted }) => !deleted),
      )
      await transaction.run(erasePastVersions, [rid, last.ver])
      erased += rows.length
      behind = last.ver
    }
  }
