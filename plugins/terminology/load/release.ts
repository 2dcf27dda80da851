/** A release of a code system that was read: what it says of itself, and its concepts in an order that is the same each time. */
import type { SystemHeader } from '../code-system.ts'
import type { LoadedConcept } from '../indexed/loaded-concept.ts'

export interface Release {
  readonly header: SystemHeader
  /** Name in the index: a later release of the same name takes the place of this one. */
  readonly name: string
  /** Hash of all that was read. */
  readonly edition: string
  /** Number of concepts. */
  readonly size: number
  /** What was left out, as sentences. */
  readonly notes: readonly string[]
  /** The concepts in batches, from the batch of this number on. */
  concepts(from: number): AsyncIterable<readonly LoadedConcept[]>
  close(): void
}

export interface ReadOptions {
  /** Language of the displays, such as `en`. */
  readonly language: string
  /** The version, where that of the files is not to be used. */
  readonly version: string | undefined
  /** Called while files are read. */
  progress(step: { readonly file: string; readonly bytes: number; readonly rows: number }): void
}

/** Concepts of a batch. The number of a batch means the same concepts after an interruption. */
export const BATCH = 1000
