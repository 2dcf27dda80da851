/** An issue of an OperationOutcome, and its codes. */

/** FHIR R4 issue types, https://hl7.org/fhir/R4/valueset-issue-type.html */
export type IssueCode =
  | 'invalid'
  | 'structure'
  | 'required'
  | 'value'
  | 'invariant'
  | 'security'
  | 'login'
  | 'unknown'
  | 'expired'
  | 'forbidden'
  | 'suppressed'
  | 'processing'
  | 'not-supported'
  | 'duplicate'
  | 'multiple-matches'
  | 'not-found'
  | 'deleted'
  | 'too-long'
  | 'code-invalid'
  | 'extension'
  | 'too-costly'
  | 'business-rule'
  | 'conflict'
  | 'transient'
  | 'lock-error'
  | 'no-store'
  | 'exception'
  | 'timeout'
  | 'incomplete'
  | 'throttled'
  | 'informational'

/** One issue of an OperationOutcome, https://hl7.org/fhir/R4/operationoutcome.html */
export interface Issue {
  readonly severity: 'fatal' | 'error' | 'warning' | 'information'
  readonly code: IssueCode
  readonly diagnostics: string
  /** FHIRPath of the element that is wrong, e.g. `Patient.name[0].family`. */
  readonly expression?: readonly string[]
}
