/**
 * What a thread answers: a head that is small, and lists that are taken over one by one, so that the main thread never
 * unpacks all of them in one turn.
 */
import type { Issue } from '../../../kernel/index.ts'
import type { JsonMember, Outline, Slots } from '../../model/service.ts'
import type { Before, ContainedList } from '../../search/service.ts'
import type { Failure } from './failure.ts'
import type { LargeFindings } from './findings.ts'

/** Findings without their lists. */
export interface FindingsHead
  extends Omit<LargeFindings, 'added' | 'shared' | 'references' | 'paths' | 'contained' | 'before' | 'source'> {
  readonly before: Omit<Before, 'removed' | 'contained' | 'references'> | undefined
  /** The rows that both versions have are among the lists, all of them. */
  readonly hasShared: boolean
}

export interface Head {
  /** Why it cannot be read. */
  readonly failure?: Failure
  readonly members?: readonly JsonMember[]
  /** Those that are short. */
  readonly pieces?: readonly (string | undefined)[]
  /** Undefined where its meta is no object. */
  readonly slots?: Slots | undefined
  readonly outline?: Outline
  /** Why it may not be written. */
  readonly refusal?: Failure
  readonly findings?: FindingsHead
  readonly issues?: readonly Issue[]
  /** The resource as text, in shared memory. */
  readonly text?: Uint8Array
  /** Of a version that is there. */
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

/** With what the thread's index rows were made from. */
export interface Examined extends Outcome {
  readonly source: object
}
