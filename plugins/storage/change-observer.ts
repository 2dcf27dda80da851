/** Who keeps something beside the resources, such as an index: told of every version that is written. */
import type { OwnUrl } from '../../kernel/index.ts'
import type { MaybePromise, Transaction } from '../database/service.ts'
import type { Changed } from './change.ts'
import type { Findings } from './findings.ts'
import type { StoredVersion } from './version.ts'

export interface ChangeObserver {
  /**
   * Inside the transaction. `previous` is the version before; a deletion counts as none. `findings`: what a thread has
   * found about both.
   */
  write(
    transaction: Transaction,
    next: StoredVersion,
    resource: Readonly<Record<string, unknown>> | undefined,
    previous: StoredVersion | undefined,
    findings?: Findings | undefined,
  ): MaybePromise<void>
  /** After COMMIT: what was written with these versions is there. */
  committed(versions: readonly StoredVersion[]): void
  /** A transaction was undone because what `write` works by was changed by another server. */
  lookAgain?(): Promise<void>
  /** For the trail: whose data a change is about, as `Patient/p1`, each once. */
  patients(
    change: Pick<Changed, 'version' | 'previous' | 'resource' | 'patients'>,
    ownUrl: OwnUrl | undefined,
  ): readonly string[]
}
