/** Definitions that tests of Subscriptions need. */
import { stubDefinitions } from './stub-definitions.ts'

const TYPES = [
  ...['Subscription', 'Patient', 'Observation', 'Practitioner', 'Organization', 'Encounter', 'Binary', 'Basic'],
  ...['Bundle', 'Parameters', 'AuditEvent', 'OperationOutcome', 'BackboneElement', 'ContactPoint'],
  ...['Element', 'Extension', 'Reference', 'Identifier', 'HumanName', 'Narrative', 'Meta', 'Coding', 'CodeableConcept'],
]
const PARAMETERS =
  /^(SearchParameter-(Subscription|Patient|Observation|Resource|clinical|individual)-|CompartmentDefinition-patient)/

export const subscriptionDefinitions = stubDefinitions(TYPES, PARAMETERS)
