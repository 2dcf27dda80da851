/** Locks of resources and names, until the end of a transaction. On SQLite there is one writer, which needs few of them. */
import { chain, isHeldUp, type MaybePromise, type Sql, type Transaction } from '../database/service.ts'
import { Contended } from './errors.ts'
import { lockKeyOf } from './lock-order.ts'
import { lockCurrent, lockForDelete, lockSeveral, lockSeveralForDelete, type VersionRow } from './tables.ts'
import { toVersion } from './to-version.ts'
import type { TypeCodes } from './type-codes.ts'
import type { StoredVersion } from './version.ts'

export interface VersionLocks {
  /** True on SQLite, where there is one writer: `lock` only reads. */
  readonly hasOneWriter: boolean
  /**
   * Reads the current version and locks it until the end of the transaction, so that no other transaction changes it.
   * `forDelete` also keeps others from adding references to it. Throws Contended if others hold the lock for too long.
   */
  lock(transaction: Transaction, type: string, id: string, forDelete?: boolean): MaybePromise<StoredVersion | undefined>
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
   * Takes a named lock until the end of the transaction; with `isShared` only those exclude it that do not share it. On
   * SQLite it does nothing, because there is one writer. Throws Contended if others hold the lock for too long.
   */
  advisoryLock(transaction: Transaction, name: string, isShared?: boolean): Promise<void>
}

/** `isAlone`: no other server may write. */
export const createVersionLocks = (codes: TypeCodes, isAlone: boolean): VersionLocks => {
  /** Names that a transaction has locked, and whether it shares the lock: several conditions on a type ask for the same. */
  const namedLocks = new WeakMap<Transaction, Map<string, boolean>>()

  /**
   * What did not exist when a transaction took its locks. It is not looked for again, because it would be locked out of
   * order, behind what the transaction holds by then. If it exists after all, the row that the transaction inserts violates
   * the index of ids, and the transaction begins again.
   */
  const absent = new WeakMap<Transaction, Set<string>>()

  const lockRows: (...given: Parameters<VersionLocks['lockAll']>) => Promise<void> = async (
    transaction,
    targets,
    forDelete,
  ) => {
    const [first] = targets
    const rows = targets.map(({ type, id }) => [codes.code(type) ?? 0, id])
    try {
      const turn = first === undefined ? undefined : transaction.queue(lockKeyOf(first))
      if (turn instanceof Promise) await turn
      const statement = forDelete ? lockSeveralForDelete : lockSeveral
      const locked = await transaction.all<{ at: number }>(statement, [JSON.stringify(rows)])
      const missing = absent.get(transaction) ?? new Set()
      if (locked.length === rows.length && missing.size === 0) return
      const there = new Set(locked.map(({ at }) => at))
      for (const [at, target] of targets.entries())
        if (there.has(at)) missing.delete(lockKeyOf(target))
        else missing.add(lockKeyOf(target))
      absent.set(transaction, missing)
    } catch (error) {
      throw isHeldUp(error) ? Contended() : error
    }
  }

  const lockRow = async (
    transaction: Transaction,
    type: string,
    id: string,
    statement: Sql,
  ): Promise<StoredVersion | undefined> => {
    const key = lockKeyOf({ type, id })
    if (absent.get(transaction)?.has(key)) return undefined
    try {
      const turn = transaction.queue(key)
      if (turn instanceof Promise) await turn
      return toVersion(type, await transaction.get<VersionRow>(statement, [codes.code(type) ?? 0, id]))
    } catch (error) {
      throw isHeldUp(error) ? Contended() : error
    }
  }

  return {
    hasOneWriter: isAlone,
    lock(transaction, type, id, forDelete = false) {
      if (!isAlone) return lockRow(transaction, type, id, forDelete ? lockForDelete : lockCurrent)
      return chain(transaction.get<VersionRow>(lockCurrent, [codes.code(type) ?? 0, id]), (row) => toVersion(type, row))
    },
    lockAll(transaction, targets, forDelete = false) {
      return isAlone ? undefined : lockRows(transaction, targets, forDelete)
    },
    async advisoryLock(transaction, name, isShared = false) {
      const held = namedLocks.get(transaction) ?? new Map<string, boolean>()
      if (held.get(name) === false || (isShared && held.has(name))) return
      try {
        const taken = transaction.hold(name, isShared)
        if (taken instanceof Promise) await taken
        namedLocks.set(transaction, held.set(name, isShared))
      } catch (error) {
        throw isHeldUp(error) ? Contended() : error
      }
    },
  }
}
