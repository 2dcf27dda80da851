/** The service for commands that rebuild the index without serving requests. */
import { defineService } from '../../../kernel/index.ts'
import type { Reindex } from './backfill/reindex.ts'

export interface Reindexing {
  /** To be called before the start: incomplete columns are then left to `reindex`. */
  deferIndexing(): void
  /** To be called after the start: rebuilds index rows. Throws `fhir/reindex-unknown`. */
  readonly reindex: Reindex
}

export const Reindexing = defineService<Reindexing>('search.reindexing')
