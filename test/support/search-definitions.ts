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

/** Types that tests of searches store, and the other data types of what they hold. */
const CARE =
  'Encounter Condition Binary Bundle Basic List Group Location PractitionerRole Provenance RiskAssessment MeasureReport Medication MedicationRequest MedicationAdministration DocumentReference Questionnaire QuestionnaireResponse ValueSet CodeSystem Element BackboneElement Narrative Attachment Annotation Range Ratio SampledData Timing Age Duration Money SimpleQuantity Dosage Expression UsageContext ContactDetail'.split(
    ' ',
  )

/** For tests that need more types: with all parameters and code systems of R4 core. */
export const careDefinitions = (): AnyPlugin =>
  stubDefinitions([...TYPES, ...CARE], /^(SearchParameter|CompartmentDefinition|ValueSet|CodeSystem)-/)
