/**
 * Terminology for other plugins: the codes of a ValueSet, and the ancestors or descendants of a code; and the index, into
 * which other plugins put code systems.
 */
import { defineService } from '../../kernel/index.ts'
import type { LoadConcepts } from './indexed/load-concepts.ts'
import type { TerminologyPull as PullService } from './pull/terminology-pull.ts'

export { type Code, CodeExpander as Terminology } from '../search/service.ts'
export type { Designation, PropertyValue, SystemHeader } from './code-system.ts'
export type { ConceptBatches, LoadConcepts, LoadedSystem, LoadOptions, LoadResult } from './indexed/load-concepts.ts'
export type { LoadedConcept } from './indexed/loaded-concept.ts'

export interface TerminologyIndex {
  /** Puts a code system into the index, from another place than a resource or a package. Only on the server that writes. */
  readonly load: LoadConcepts
  /** Resolves when no stored or installed code system waits to be indexed. */
  idle(): Promise<void>
}

export const TerminologyIndex = defineService<TerminologyIndex>('terminology.index')

/** Pulls definitions from other servers. Only on the server that writes. */
export type TerminologyPull = PullService
export type { PullReport, PullSummary } from './pull/terminology-pull.ts'
export const TerminologyPull = defineService<TerminologyPull>('terminology.pull')
