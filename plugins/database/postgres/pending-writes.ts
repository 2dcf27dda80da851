/** The statements of a transaction that has run none with a result, for a group commit. */
import type { Publication } from '../feed/publication.ts'
import type { Ending } from './ending.ts'
import type { BoundStatement } from './statement-group.ts'

export interface PendingWrites {
  readonly steps: readonly BoundStatement[]
  /** Size of their parameters. */
  readonly bytes: number
  readonly published: readonly Publication[]
  readonly ending: Ending
}
