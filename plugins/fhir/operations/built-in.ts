/** An operation of this plugin. Besides `data` it may use the view. */
import type { StoredVersion } from '../../storage/service.ts'
import type { View } from '../view.ts'
import type { Invocation, Operation } from './operation.ts'

export interface BuiltInInvocation extends Invocation {
  /** The view of the transaction when invoked inside one. */
  readonly view: View
  /** Reports versions that the answer contains besides those that `data` has read, for the audit trail. */
  shown(versions: readonly StoredVersion[]): void
}

export type BuiltInOperation = Operation<BuiltInInvocation>
