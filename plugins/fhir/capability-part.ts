/** What other plugins add to the capability statement. */
import type { RequestContext } from '../../kernel/index.ts'

export interface CapabilityPart {
  /** `rest.security`: an object, or a function that makes it for a request, because it holds URLs of this server. */
  readonly security?: object | ((request: RequestContext) => object)
  /** `rest.resource.referencePolicy`: codes of https://hl7.org/fhir/R4/valueset-reference-handling-policy.html */
  readonly referencePolicy?: readonly string[]
  /** TerminologyCapabilities.codeSystem: urls of code systems that no package has. */
  readonly codeSystems?: readonly string[]
}
