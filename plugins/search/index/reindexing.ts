/** The service with which a command or a job rebuilds the index. */
import { defineService } from '../../../kernel/index.ts'
import type { Reindex, ReindexScope } from './backfill/reindex.ts'

export interface Reindexing {
  /** To be called before the start: incomplete columns are then left to `reindex`. */
  deferIndexing(): void
  /** To be called after the start. Throws `fhir/reindex-unknown` for a scope that names no parameter. */
  checkScope(scope: ReindexScope): Promise<void>
  /** To be called after the start: rebuilds index rows. Throws `fhir/reindex-unknown`. */
  readonly reindex: Reindex
}

export const Reindexing = defineService<Reindexing>('search.reindexing')
