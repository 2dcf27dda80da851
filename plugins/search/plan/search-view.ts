import type { Clock } from '../../../kernel/index.ts'
import type { Transaction } from '../../database/service.ts'
import type { TypeCatalog } from '../../model/service.ts'
import type { VersionStore } from '../../storage/service.ts'
import type { PlannedSearch } from './planned-search.ts'

/** What searches are performed with. */
export interface SearchView {
  /** Set where all is read inside of one. */
  readonly transaction?: Transaction
  readonly search: PlannedSearch
  readonly store: Pick<VersionStore, 'types'>
  readonly catalog: Pick<TypeCatalog, 'types'>
  readonly clock: Clock
  /** Entries of a page when `_count` is not given, and the most it may ask for. */
  readonly page: { readonly default: number; readonly max: number }
}
