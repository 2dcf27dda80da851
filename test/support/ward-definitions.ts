/** The definitions that examples/ward-list needs. */
import { stubDefinitions } from './stub-definitions.ts'

export const wardDefinitions = stubDefinitions(
  [
    ...['Patient', 'Encounter', 'Location', 'Bundle', 'Binary', 'Element', 'Extension', 'Reference', 'Identifier'],
    ...['HumanName', 'Period', 'Narrative', 'Meta', 'Coding', 'CodeableConcept'],
  ],
  /^SearchParameter-(Encounter|Patient|Location|Resource|clinical|individual)-/,
)
