/** An entry of a transaction that was ruled on, and one whose resource is known. */
import type { Ruling } from '../../../kernel/index.ts'
import type { WriteGuard } from '../../storage/service.ts'
import type { Target } from '../interactions/change.ts'
import type { Step } from './entry-interaction.ts'

/** An entry that is about to be performed. */
export interface Ruled {
  readonly step: Step
  readonly ruling: Ruling
  readonly guard: WriteGuard | undefined
}

/** A change whose resource is known. */
export interface Located extends Ruled {
  readonly step: Extract<Step, { kind: 'change' }>
  readonly target: Target
}
