/** Definitions for tests of code systems that they store or load themselves: the catalog of all types takes long to read. */
import type { AnyPlugin } from '../../kernel/index.ts'
import { stubDefinitions } from './stub-definitions.ts'

const TYPES = [
  'CodeSystem',
  'ValueSet',
  'ConceptMap',
  'Parameters',
  'Condition',
  'Observation',
  'Patient',
  'Bundle',
  'Element',
  'Extension',
  'Meta',
  'Coding',
  'CodeableConcept',
  'Identifier',
  'Reference',
]
const PARAMETERS =
  'CodeSystem|ValueSet|ConceptMap|conformance|Condition|clinical|Observation|Patient|individual|Resource'

/** `ids`: of code systems and value sets of the package. */
export const terminologyDefinitions = (...ids: readonly string[]): AnyPlugin => {
  const systems = ids.map((id) => `|(CodeSystem|ValueSet)-${id}\\.`).join('')
  return stubDefinitions(TYPES, new RegExp(`^(SearchParameter-(${PARAMETERS})-${systems})`))
}
