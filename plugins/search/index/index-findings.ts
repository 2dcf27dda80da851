/**
 * What a worker thread has extracted from a large resource, so that the main thread can write its index rows without
 * parsing it.
 */
import type { ReadReference } from '../../model/service.ts'
import type { Findings } from '../../storage/service.ts'
import { findingsOf } from '../../storage/thread-service.ts'
import type { ContainedRows } from './contained/contained-entries.ts'
import type { ExtractionSource } from './extraction-source.ts'
import type { ResourceText } from './full-text/resource-text.ts'
import type { IndexEntries } from './index-entries.ts'
import { joinRowLists } from './row-lists.ts'

/** Index rows of contained resources, by their index in `contained`; undefined where one is not indexed. */
export type ContainedList = readonly (ContainedRows | undefined)[]

/** What the index holds of the version that is replaced. */
export interface Before {
  readonly version: number
  /** The next version has the same content. */
  readonly isSame: boolean
  /** Undefined when they were not requested. */
  readonly references: readonly ReadReference[] | undefined
  /** Rows of this version that the next one does not have. */
  readonly removed: readonly IndexEntries[]
  /** Its alias columns: `IndexEntries.present`. */
  readonly present: readonly number[]
  readonly contained: ContainedList
  readonly words: ResourceText
}

export interface IndexFindings extends Findings {
  /** Rows that the version before does not have, without duplicates, in lists of limited length. */
  readonly added: readonly IndexEntries[]
  /**
   * Rows that both versions have, for guards that check a version by all of its rows. Undefined when they were not
   * requested.
   */
  readonly shared: readonly IndexEntries[] | undefined
  /** Its alias columns: `IndexEntries.present`. */
  readonly present: readonly number[]
  readonly masks: readonly number[]
  /** Counters of all rows of both versions: see change-counters.ts. */
  readonly keys: readonly number[]
  readonly contained: ContainedList
  readonly words: ResourceText
  readonly references: readonly ReadReference[]
  /** The FHIRPath of each reference, in the same order. */
  readonly paths: readonly string[]
  /** Undefined when the resource is new or was deleted. */
  readonly before: Before | undefined
  /** `Registry.source` at the time of the extraction. `hasSameRows` says whether the rows are outdated. */
  readonly source: ExtractionSource
}

/** All index rows of a version, extracted by a worker thread. */
export interface FoundRows {
  readonly rows: IndexEntries
  /** `Registry.source` at the time of the extraction. `hasSameRows` says whether the rows are outdated. */
  readonly source: ExtractionSource
}

/** All rows of the new version. Undefined when the shared rows were not requested. */
export const rowsOfNext = ({ added, shared, before, present, source }: IndexFindings): FoundRows | undefined =>
  before !== undefined && shared === undefined
    ? undefined
    : { rows: joinRowLists([...added, ...(shared ?? [])], present), source }

/**
 * All rows of the version that is replaced. Undefined when there is none, or when the shared rows were not requested.
 */
export const rowsOfBefore = ({ shared, before, source }: IndexFindings): FoundRows | undefined =>
  before === undefined || shared === undefined
    ? undefined
    : { rows: joinRowLists([...before.removed, ...shared], before.present), source }

const hasRows = (findings: Findings): findings is IndexFindings => 'masks' in findings

/** Throws when the findings hold no index rows: a thread that prepares a write has to extract them. */
export const toIndexFindings = (findings: Findings): IndexFindings => {
  if (!hasRows(findings)) throw new Error('a large resource was examined without its index rows')
  return findings
}

/** Undefined for a resource that was parsed on the main thread. */
export const indexFindingsOf = (resource: Readonly<Record<string, unknown>> | undefined): IndexFindings | undefined => {
  const findings = findingsOf(resource)
  return findings && toIndexFindings(findings)
}
