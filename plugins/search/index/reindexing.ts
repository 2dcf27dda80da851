/** The index for whoever keeps it up: a command that rebuilds it does so without the rest of a server. */
import { defineService } from '../../../kernel/index.ts'
import type { Reindex } from './backfill/reindex.ts'

export interface Reindexing {
  /** Before the start: columns that are not complete are left to `reindex`. */
  deferIndexing(): void
  /** Once started: rebuilds index rows. Throws `fhir/reindex-unknown`. */
  readonly reindex: Reindex
}

export const Reindexing = defineService<Reindexing>('search.reindexing')
