/** The context that the clauses of a search are made in. */
import type { OwnUrl, ServerError } from '../../../kernel/index.ts'
import type { SearchClause } from './clause.ts'
import type { Expansions } from './expansions.ts'

/** The context of a search: the server's own URL, the time in milliseconds, the snapshot and the caller's access. */
export interface SearchContext {
  readonly ownUrl: OwnUrl | undefined
  readonly now: number
  /** Largest resource key that this search may see. */
  readonly snapshotKey: number
  /**
   * Conditions for the resources that a chain or `_has` passes through. Undefined when the caller may see none of
   * that type.
   */
  readonly allowed: (type: string) => Promise<readonly SearchClause[] | undefined>
  /** The error for such a type: 403. */
  readonly forbidden: (type: string) => ServerError
  /** Codes of value sets that were expanded before. Set where a search is repeated inside a transaction. */
  readonly expansions?: Expansions
}
