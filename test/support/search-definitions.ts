/** Definitions for tests of search parameters: a few types with all their data types, which compile quickly. */
import type { AnyPlugin } from '../../kernel/index.ts'
import { stubDefinitions } from './stub-definitions.ts'

const TYPES = [
  'Patient',
  'Observation',
  'Practitioner',
  'Organization',
  'SearchParameter',
  'HumanName',
  'Address',
  'Identifier',
  'CodeableConcept',
  'Coding',
  'Quantity',
  'Reference',
  'Period',
  'Extension',
  'ContactPoint',
  'Meta',
]

/** `parameters`: a pattern of the beginnings of the ids of SearchParameters; `more`: further types. */
export const searchDefinitions = (
  parameters = 'Patient|individual|clinical|Observation|Organization|Resource',
  more: readonly string[] = [],
): AnyPlugin =>
  stubDefinitions([...TYPES, ...more], new RegExp(`^(SearchParameter-(${parameters})|CompartmentDefinition)`))
