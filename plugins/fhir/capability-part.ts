/** What plugins add to the capability statement. */
import type { RequestContext } from '../../kernel/index.ts'

/** What plugins add to the statement. */
export interface CapabilityPart {
  /** How access is secured: as it is, or made for the request that asks, where it names URLs of this server. */
  readonly security?: object | ((request: RequestContext) => object)
  /** What references may be, by the codes of https://hl7.org/fhir/R4/valueset-reference-handling-policy.html */
  readonly referencePolicy?: readonly string[]
}
