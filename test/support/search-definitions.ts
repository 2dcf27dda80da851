/** The definitions that tests of search parameters need: a few types with all their data types, compiled quickly. */
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

/** `parameters`: which SearchParameters there are, by the beginning of their ids. */
export const searchDefinitions = (
  parameters = 'Patient|individual|clinical|Observation|Organization|Resource',
): AnyPlugin => stubDefinitions(TYPES, new RegExp(`^(SearchParameter-(${parameters})|CompartmentDefinition)`))
