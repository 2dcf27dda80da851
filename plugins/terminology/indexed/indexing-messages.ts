/** What the main thread and the one that reads a code system tell each other. */
import type { PackedBody } from '../../fhir/service.ts'
import type { SystemHeader } from '../code-system.ts'
import type { IndexRows } from './index-rows.ts'

/** The code system: as it is stored, or as text. */
export type SystemToIndex = { readonly packed: PackedBody } | { readonly json: string }

/** A code system begins it; `undefined` asks for the next part. */
export type ToIndexingThread = SystemToIndex | undefined

export type FromIndexingThread =
  | { readonly kind: 'header'; readonly header: SystemHeader; readonly size: number }
  | { readonly kind: 'rows'; readonly rows: IndexRows }
  | { readonly kind: 'end' }
