/** Definitions for tests of forms: some resource types, all data types and all codes. Those of all types take longer to read. */
import type { AnyPlugin } from '../../kernel/index.ts'
import { stubDefinitions } from './stub-definitions.ts'

const words = (text: string): string[] => text.trim().split(/\s+/)

const TYPES = words(`
  Resource DomainResource Patient Encounter Observation Condition Practitioner RelatedPerson Organization Questionnaire
  QuestionnaireResponse Task Provenance List ValueSet CodeSystem StructureMap Parameters OperationOutcome Subscription
  Binary Bundle Basic AuditEvent`)
const DATA_TYPES = words(`
  Element Address Age Annotation Attachment BackboneElement CodeableConcept Coding ContactDetail ContactPoint Contributor Count
  DataRequirement Distance Dosage Duration ElementDefinition Expression Extension HumanName Identifier Meta Money Narrative
  ParameterDefinition Period Quantity Range Ratio Reference RelatedArtifact SampledData Signature Timing TriggerDefinition
  UsageContext SimpleQuantity MoneyQuantity base64Binary boolean canonical code date dateTime decimal id instant integer
  markdown oid positiveInt string time unsignedInt uri url uuid xhtml`)
/** Those of several types have names of their own. */
const PARAMETERS = [...TYPES, 'clinical', 'individual', 'conformance'].join('|')

export const formDefinitions: AnyPlugin = stubDefinitions(
  [...TYPES, ...DATA_TYPES],
  new RegExp(`^(SearchParameter-(${PARAMETERS})-|CompartmentDefinition-|ValueSet-|CodeSystem-|ConceptMap-)`),
)
