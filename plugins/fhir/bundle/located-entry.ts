/** An entry of a transaction that was ruled on, and one whose resource is known. */
import type { Ruling } from '../../../kernel/index.ts'
import type { WriteGuard } from '../../storage/service.ts'
import type { ChangeTarget } from '../interactions/change.ts'
import type { EntryInteraction } from './entry-interaction.ts'

/** An entry that is about to be performed. */
export interface Ruled {
  readonly step: EntryInteraction
  readonly ruling: Ruling
  readonly guard: WriteGuard | undefined
}

/** A change whose resource is known. */
export interface Located extends Ruled {
  readonly step: Extract<EntryInteraction, { kind: 'change' }>
  readonly target: ChangeTarget
}
