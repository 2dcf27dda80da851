/** An operation of this plugin itself, which sees what is behind `data`. */
import type { StoredVersion } from '../../storage/service.ts'
import type { View } from '../view.ts'
import type { Invocation, Operation } from './operation.ts'

export interface BuiltInInvocation extends Invocation {
  /** Inside a transaction, that of the transaction. */
  readonly view: View
  /** To be told what was given out besides what `data` did. */
  shown(versions: readonly StoredVersion[]): void
}

export type BuiltInOperation = Operation<BuiltInInvocation>
