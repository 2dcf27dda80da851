/** Locks of resources and names, until the end of a transaction. On SQLite there is one writer, which needs few of them. */
import { isHeldUp, type MaybePromise, type Transaction } from '../database/service.ts'
import { Contended } from './errors.ts'
import { lockCurrent, lockForDelete, lockSeveral, lockSeveralForDelete, type VersionRow } from './tables.ts'
import { toVersion } from './to-version.ts'
import type { TypeCodes } from './type-codes.ts'
import type { StoredVersion } from './version.ts'

export interface VersionLocks {
  /**
   * Reads the current version and locks it until the end of the transaction, so that no other transaction changes it.
   * `forDelete` also keeps others from adding references to it. Throws Contended if others hold the lock for too long.
   */
  lock(transaction: Transaction, type: string, id: string, forDelete?: boolean): Promise<StoredVersion | undefined>
  /**
   * Locks the current versions of several resources in the order of the list, as `lock` does, in one statement. On SQLite
   * it does nothing, because there is one writer. Throws Contended if others hold a lock for too long.
   */
  lockAll(
    transaction: Transaction,
    targets: readonly { readonly type: string; readonly id: string }[],
    forDelete?: boolean,
  ): MaybePromise<void>
  /**
   * Takes a named lock until the end of the transaction. On SQLite it does nothing, because there is one writer. Throws
   * Contended if others hold the lock for too long.
   */
  advisoryLock(transaction: Transaction, name: string): Promise<void>
}

/** `isAlone`: no other server may write. */
export const createVersionLocks = (codes: TypeCodes, isAlone: boolean): VersionLocks => {
  /** Names that a transaction has locked: several conditions on a type ask for the same lock. */
  const namedLocks = new WeakMap<Transaction, Set<string>>()

  const lockRows: (...given: Parameters<VersionLocks['lockAll']>) => Promise<void> = async (
    transaction,
    targets,
    forDelete,
  ) => {
    const [first] = targets
    const rows = targets.map(({ type, id }) => [codes.code(type) ?? 0, id])
    try {
      const turn = first === undefined ? undefined : transaction.queue(`${first.type}/${first.id}`)
      if (turn instanceof Promise) await turn
      await transaction.all(forDelete ? lockSeveralForDelete : lockSeveral, [JSON.stringify(rows)])
    } catch (error) {
      throw isHeldUp(error) ? Contended() : error
    }
  }

  return {
    async lock(transaction, type, id, forDelete = false) {
      const statement = forDelete ? lockForDelete : lockCurrent
      try {
        const turn = transaction.queue(`${type}/${id}`)
        if (turn instanceof Promise) await turn
        return toVersion(type, await transaction.get<VersionRow>(statement, [codes.code(type) ?? 0, id]))
      } catch (error) {
        throw isHeldUp(error) ? Contended() : error
      }
    },
    lockAll(transaction, targets, forDelete = false) {
      return isAlone ? undefined : lockRows(transaction, targets, forDelete)
    },
    async advisoryLock(transaction, name) {
      const held = namedLocks.get(transaction) ?? new Set()
      if (held.has(name)) return
      try {
        const taken = transaction.hold(name)
        if (taken instanceof Promise) await taken
        namedLocks.set(transaction, held.add(name))
      } catch (error) {
        throw isHeldUp(error) ? Contended() : error
      }
    },
  }
}
