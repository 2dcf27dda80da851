import type { Clock } from '../../../kernel/index.ts'
import type { Transaction } from '../../database/service.ts'
import type { Catalog } from '../../model/service.ts'
import type { Store } from '../../storage/service.ts'
import type { Search } from '../open-search.ts'

/** What searches are performed with. */
export interface SearchView {
  /** Set where all is read inside of one. */
  readonly transaction?: Transaction
  readonly search: Search
  readonly store: Pick<Store, 'types'>
  readonly catalog: Pick<Catalog, 'types'>
  readonly clock: Clock
  /** Entries of a page when `_count` is not given, and the most it may ask for. */
  readonly page: { readonly usual: number; readonly most: number }
}
