/** What a thread has found about a large resource: all that a write needs of it besides its text. */
import type { Issue } from '../../../kernel/index.ts'
import type { ContainedRows } from '../../search/index/contained/contained-entries.ts'
import type { ResourceWords } from '../../search/index/full-text/resource-text.ts'
import type { Rows } from '../../search/index/index-entries.ts'
import type { ReadReference } from '../../search/reference-index.ts'
import type { PackedPart } from '../../storage/body/compressed-parts.ts'

/** Index rows of a contained resource by its place; undefined where there is nothing to index. */
export type ContainedList = readonly (ContainedRows | undefined)[]

/** The version that is replaced, by what the index holds of it. */
export interface Before {
  readonly version: number
  /** The next version has the same content. */
  readonly isSame: boolean
  /** Rows that the next version does not have. */
  readonly removed: readonly Rows[]
  readonly contained: ContainedList
  readonly words: ResourceWords
}

export interface Findings {
  /** What the checks of definitions say without refusing it. */
  readonly issues: readonly Issue[]
  /** The parts of its template, packed; undefined where it is packed as a whole. */
  readonly parts: readonly PackedPart[] | undefined
  /** Rows that the version before does not have, each once, in lists of bounded length. */
  readonly added: readonly Rows[]
  readonly masks: readonly number[]
  /** Keys of all rows of both versions: see usual/changes.ts. */
  readonly keys: readonly number[]
  readonly absolutes: readonly number[]
  readonly contained: ContainedList
  readonly words: ResourceWords
  readonly references: readonly ReadReference[]
  /** FHIRPath of each reference. */
  readonly paths: readonly string[]
  readonly patients: readonly string[]
  /** Undefined for what is not there yet, or was deleted. */
  readonly before: Before | undefined
  /** `Registry.source` that the rows were made with. */
  readonly source: object
}
