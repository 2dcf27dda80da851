/**
 * What the operations ask of one version of a code system. There are two implementations: `memory-source.ts` over a parsed
 * CodeSystem, and `indexed/indexed-source.ts` over the tables of the terminology index, which loads no more than what it
 * is asked for. One test holds both together on random code systems.
 */
import type { MaybePromise } from '../database/service.ts'
import type { ConceptFacts, SystemHeader } from './code-system.ts'
import type { ValueSetFilter } from './filter.ts'
import type { PlaceSet } from './place-set.ts'

export interface ConceptSource extends SystemHeader {
  /** Number of concepts. Their places are 0 to size - 1, in the order of the code system. */
  readonly size: number
  /** Its number in the index; undefined for one in memory, whose concepts may be enumerated. */
  readonly id: number | undefined
  /** The concept of a code, compared without case where the system is not case-sensitive. */
  find(code: string): MaybePromise<ConceptFacts | undefined>
  /** The same of many codes, by the code as it was asked. Unknown ones are left out. */
  findAll(codes: readonly string[]): MaybePromise<ReadonlyMap<string, ConceptFacts>>
  /** The concepts at these places, in the given order. */
  at(places: readonly number[]): MaybePromise<readonly ConceptFacts[]>
  /** Codes of the concepts directly above or below. */
  linked(concept: ConceptFacts, direction: 'parents' | 'children'): MaybePromise<readonly string[]>
  /** Places of the parents of each concept, in the order of `places`. */
  parentsOf(places: readonly number[]): MaybePromise<readonly (readonly number[])[]>
  /** The code, and those of all concepts above or below it; at most `most` + 1 of them, so that too many are noticed. */
  related(concept: ConceptFacts, direction: 'above' | 'below', most: number): MaybePromise<readonly string[]>
  /** Whether the first one is the other one or below it. */
  isWithin(concept: ConceptFacts, other: ConceptFacts): MaybePromise<boolean>
  /** The concepts that meet a filter. Throws UnsupportedFilter. The set must not be changed. */
  select(filter: ValueSetFilter): MaybePromise<PlaceSet>
  /** The concepts that are inactive or abstract. The set must not be changed. */
  marked(mark: 'inactive' | 'abstract'): MaybePromise<PlaceSet>
  /**
   * The concepts that the filter of $expand finds: see `match-text.ts`. The display is the one in the language, if there
   * is one. The set must not be changed.
   */
  matching(text: string, language: string | undefined): MaybePromise<PlaceSet>
}
