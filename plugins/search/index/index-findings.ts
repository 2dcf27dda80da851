/** What a thread has found about a large resource for the index: all that a write needs of it besides its text. */
import type { ReadReference } from '../../model/service.ts'
import { type Findings, findingsOf } from '../../storage/service.ts'
import type { ContainedRows } from './contained/contained-entries.ts'
import type { ResourceText } from './full-text/resource-text.ts'
import type { IndexEntries } from './index-entries.ts'
import { joinRowLists } from './row-lists.ts'

/** Index rows of a contained resource by its place; undefined where there is nothing to index. */
export type ContainedList = readonly (ContainedRows | undefined)[]

/** The version that is replaced, by what the index holds of it. */
export interface Before {
  readonly version: number
  /** The next version has the same content. */
  readonly isSame: boolean
  /** Undefined where nobody asked. */
  readonly references: readonly ReadReference[] | undefined
  /** Rows that the next version does not have. */
  readonly removed: readonly IndexEntries[]
  /** `Rows.present` of it. */
  readonly present: readonly number[]
  readonly contained: ContainedList
  readonly words: ResourceText
}

export interface IndexFindings extends Findings {
  /** Rows that the version before does not have, each once, in lists of bounded length. */
  readonly added: readonly IndexEntries[]
  /** Rows that both versions have, for who decides on a version by all of its rows; undefined where nobody asked. */
  readonly shared: readonly IndexEntries[] | undefined
  /** `Rows.present`. */
  readonly present: readonly number[]
  readonly masks: readonly number[]
  /** Keys of all rows of both versions: see change-counters.ts. */
  readonly keys: readonly number[]
  readonly contained: ContainedList
  readonly words: ResourceText
  readonly references: readonly ReadReference[]
  /** FHIRPath of each reference. */
  readonly paths: readonly string[]
  /** Undefined for what is not there yet, or was deleted. */
  readonly before: Before | undefined
  /** `Registry.source` that the rows were made with. */
  readonly source: object
}

/** All rows of a resource, by a thread. */
export interface FoundRows {
  readonly rows: IndexEntries
  /** `Registry.source` that they were made with: with another one they say nothing. */
  readonly source: object
}

/** Of the resource; undefined where some were not asked for. */
export const rowsOfNext = ({ added, shared, before, present, source }: IndexFindings): FoundRows | undefined =>
  before !== undefined && shared === undefined
    ? undefined
    : { rows: joinRowLists([...added, ...(shared ?? [])], present), source }

/** Of the version that is replaced. */
export const rowsOfBefore = ({ shared, before, source }: IndexFindings): FoundRows | undefined =>
  before === undefined || shared === undefined
    ? undefined
    : { rows: joinRowLists([...before.removed, ...shared], before.present), source }

const hasRows = (findings: Findings): findings is IndexFindings => 'masks' in findings

/** Throws for findings without rows: who examines a resource for a write, extracts them. */
export const toIndexFindings = (findings: Findings): IndexFindings => {
  if (!hasRows(findings)) throw new Error('a large resource was examined without its index rows')
  return findings
}

/** Undefined for a resource that was read on the main thread. */
export const indexFindingsOf = (resource: Readonly<Record<string, unknown>> | undefined): IndexFindings | undefined => {
  const findings = findingsOf(resource)
  return findings && toIndexFindings(findings)
}
