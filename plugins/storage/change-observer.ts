/** The interface of a plugin that maintains data derived from resources, such as the search index. */
import type { OwnUrl } from '../../kernel/index.ts'
import type { MaybePromise, Transaction } from '../database/service.ts'
import type { Changed } from './change.ts'
import type { Findings } from './findings.ts'
import type { StoredVersion } from './version.ts'

export interface ChangeObserver {
  /**
   * Called inside the transaction for every version that is written. `resource` is undefined for a deletion. `previous` is the
   * version before; if that is a deletion, there is no previous content. `findings` are those of a worker thread about both
   * versions.
   */
  write(
    transaction: Transaction,
    next: StoredVersion,
    resource: Readonly<Record<string, unknown>> | undefined,
    previous: StoredVersion | undefined,
    findings?: Findings | undefined,
  ): MaybePromise<void>
  /**
   * Called in the transaction that erases superseded versions, with those that have content: removes what was derived from them
   * and is not removed when they are superseded.
   */
  erase?(transaction: Transaction, versions: readonly StoredVersion[]): MaybePromise<void>
  /** Called after COMMIT with the versions that the transaction has written. */
  committed(versions: readonly StoredVersion[]): void
  /**
   * Called when a transaction was rolled back because another server has changed definitions that `write` uses. Must load
   * them again; the transaction is then repeated.
   */
  lookAgain?(): Promise<void>
  /** For the audit trail: the patients whose data the change concerns, as `Patient/p1`, without duplicates. */
  patients(
    change: Pick<Changed, 'version' | 'previous' | 'resource' | 'patients'>,
    ownUrl: OwnUrl | undefined,
  ): readonly string[]
}
