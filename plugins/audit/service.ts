/** What other plugins may read of the audit trail. Whoever shows it has asked for the ruling on `_audit` before. */
import { defineService } from '../../kernel/index.ts'
import type { TrailSearch } from './search/trail-search.ts'

export { type EventKind, KINDS } from './event.ts'
export type { TrailEntry, TrailSearch } from './search/trail-search.ts'

export interface Trail {
  /** Writes the queued events of this server. */
  flush(): Promise<void>
  readonly search: TrailSearch
}

export const Trail = defineService<Trail>('audit.trail')
