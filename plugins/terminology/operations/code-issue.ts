/**
 * Issues of $validate-code, with the types that HL7's terminology ecosystem gives them.
 * https://hl7.org/fhir/tools/CodeSystem-tx-issue-type.html
 */
import type { Json } from '../expansion-contract.ts'

const ISSUE_TYPES = 'http://hl7.org/fhir/tools/CodeSystem/tx-issue-type'

export type IssueDetail =
  | 'not-in-vs'
  | 'this-code-not-in-vs'
  | 'invalid-code'
  | 'invalid-data'
  | 'invalid-display'
  | 'vs-invalid'
  | 'not-found'
  | 'code-rule'
  | 'code-comment'

export interface CodeIssue {
  readonly severity: 'error' | 'warning' | 'information'
  readonly detail: IssueDetail
  readonly text: string
  /** The element of the coding that it is about; empty for the coding, undefined for none. */
  readonly at: '' | 'code' | 'system' | 'version' | 'display' | undefined
}

/** https://hl7.org/fhir/R4/valueset-issue-type.html */
const CODES: Readonly<Record<IssueDetail, string>> = {
  'not-in-vs': 'code-invalid',
  'this-code-not-in-vs': 'code-invalid',
  'invalid-code': 'code-invalid',
  'invalid-data': 'invalid',
  'invalid-display': 'invalid',
  'vs-invalid': 'invalid',
  'not-found': 'not-found',
  'code-rule': 'business-rule',
  'code-comment': 'business-rule',
}

/** `path` is that of the coding in the inputs: `Coding`, `CodeableConcept.coding[0]`, or empty for `code` and `system`. */
const expressionOf = ({ at }: CodeIssue, path: string): string | undefined => {
  if (at === undefined) return undefined
  const whole = path === '' ? at : at === '' ? path : `${path}.${at}`
  return whole === '' ? undefined : whole
}

export const toIssue = (issue: CodeIssue, path: string): Json => {
  const { severity, detail, text } = issue
  const expression = expressionOf(issue, path)
  return {
    severity,
    code: CODES[detail],
    details: { coding: [{ system: ISSUE_TYPES, code: detail }], text },
    ...(expression !== undefined && { expression: [expression] }),
  }
}
