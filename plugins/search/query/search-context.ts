/** What a search is asked with. */
import type { OwnUrl, ServerError } from '../../../kernel/index.ts'
import type { SearchClause } from './clause.ts'
import type { Expansions } from './expansions.ts'

/** What a search is asked from: where this server is, when it is, what was told to see. */
export interface SearchContext {
  readonly ownUrl: OwnUrl | undefined
  readonly now: number
  /** Largest rid this search may see. */
  readonly snapshotKey: number
  /** Conditions that what a chain or `_has` passes through must meet; undefined when that type is closed. */
  readonly allowed: (type: string) => Promise<readonly SearchClause[] | undefined>
  /** What to throw where such a type is closed: 403. */
  readonly forbidden: (type: string) => ServerError
  /** Codes of value sets that were asked for before; where they are kept for a search inside a transaction. */
  readonly expansions?: Expansions
}
