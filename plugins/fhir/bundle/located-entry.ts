/** An entry of a transaction after authorization, and after its resource was located. */
import type { Ruling } from '../../../kernel/index.ts'
import type { WriteGuard } from '../../storage/service.ts'
import type { ChangeTarget } from '../interactions/change.ts'
import type { EntryInteraction } from './entry-interaction.ts'

/** An entry that was authorized. */
export interface Ruled {
  readonly step: EntryInteraction
  readonly ruling: Ruling
  readonly guard: WriteGuard | undefined
}

/** A change that was authorized, and whose resource is known. */
export interface Located extends Ruled {
  readonly step: Extract<EntryInteraction, { kind: 'change' }>
  readonly target: ChangeTarget
}
