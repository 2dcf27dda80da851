/** What plugins add to the capability statement. */

/** What plugins add to the statement. */
export interface CapabilityPart {
  /** How access is secured. */
  readonly security?: object
  /** What references may be, by the codes of https://hl7.org/fhir/R4/valueset-reference-handling-policy.html */
  readonly referencePolicy?: readonly string[]
}
