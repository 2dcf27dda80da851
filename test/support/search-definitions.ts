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

/** `parameters`: a pattern of the beginnings of the ids of SearchParameters. */
export const searchDefinitions = (
  parameters = 'Patient|individual|clinical|Observation|Organization|Resource',
): AnyPlugin => stubDefinitions(TYPES, new RegExp(`^(SearchParameter-(${parameters})|CompartmentDefinition)`))
