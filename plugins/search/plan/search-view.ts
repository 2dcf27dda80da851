import type { Clock } from '../../../kernel/index.ts'
import type { Transaction } from '../../database/service.ts'
import type { TypeCatalog } from '../../model/service.ts'
import type { VersionStore } from '../../storage/service.ts'
import type { Beside } from './beside/beside-subjects.ts'
import type { PlannedSearch } from './planned-search.ts'

/** The view that a search runs on. */
export interface SearchView {
  /** Set when everything is read inside a transaction. */
  readonly transaction?: Transaction
  readonly search: PlannedSearch
  readonly store: Pick<VersionStore, 'types'>
  readonly catalog: Pick<TypeCatalog, 'types'>
  readonly clock: Clock
  /** What searches of some types show beside the stored resources. */
  readonly beside?: Beside | undefined
  /** The default number of entries on a page, and the most that `_count` may request. */
  readonly page: { readonly default: number; readonly max: number }
}
