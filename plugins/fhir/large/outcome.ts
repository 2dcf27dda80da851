/**
 * The answer of a thread: a small head, and lists that are sent in parts, so that the main thread never deserializes
 * all of it in one tick.
 */
import type { Issue } from '../../../kernel/index.ts'
import type { JsonMember, Outline, Slots } from '../../model/service.ts'
import type { Before, ContainedList, ExtractionSource } from '../../search/service.ts'
import type { Failure } from './failure.ts'
import type { LargeFindings } from './findings.ts'

/** Findings without their lists. */
export interface FindingsHead
  extends Omit<LargeFindings, 'added' | 'shared' | 'references' | 'paths' | 'contained' | 'before' | 'source'> {
  readonly before: Omit<Before, 'removed' | 'contained' | 'references'> | undefined
  /** True when the lists include the rows that both versions have in common. */
  readonly hasShared: boolean
}

export interface Head {
  /** Why the body cannot be parsed. */
  readonly failure?: Failure
  readonly members?: readonly JsonMember[]
  /** The texts of short members; undefined for long ones. */
  readonly pieces?: readonly (string | undefined)[]
  /** Undefined when `meta` is no object. */
  readonly slots?: Slots | undefined
  readonly outline?: Outline
  /** Why the resource may not be written. */
  readonly refusal?: Failure
  readonly findings?: FindingsHead
  readonly issues?: readonly Issue[]
  /** The resource as text, in shared memory. */
  readonly text?: Uint8Array
  /** The patients that the stored version belongs to. */
  readonly patients?: readonly string[]
}

/** Some items of one list. */
export type Part =
  | { readonly list: 'added' | 'removed' | 'shared'; readonly rows: LargeFindings['added'][number] }
  | { readonly list: 'references'; readonly references: LargeFindings['references']; readonly paths: readonly string[] }
  | { readonly list: 'referencesBefore'; readonly references: LargeFindings['references'] }
  | { readonly list: 'contained' | 'containedBefore'; readonly contained: ContainedList }

export interface Outcome {
  readonly head: Head
  readonly parts: readonly Part[]
}

/** With the source of the thread's index rows, to detect that search parameters have changed since. */
export interface Examined extends Outcome {
  readonly source: ExtractionSource
}
