/**
 * Issues of $validate-code, with the types that HL7's terminology ecosystem gives them.
 * https://hl7.org/fhir/tools/CodeSystem-tx-issue-type.html
 */
import type { Json } from '../expansion-contract.ts'

const MESSAGE_ID = 'http://hl7.org/fhir/StructureDefinition/operationoutcome-message-id'
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
  /** The canonical of a code system that is not here. */
  readonly unknown?: string
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

/** The names that HL7's validator and terminology servers give the messages, whatever their language. */
const MESSAGE_IDS: Readonly<Record<IssueDetail, (issue: CodeIssue) => string>> = {
  // Without an element it is about a whole concept.
  'not-in-vs': ({ at }) =>
    at === undefined ? 'TX_GENERAL_CC_ERROR_MESSAGE' : 'None_of_the_provided_codes_are_in_the_value_set_one',
  'this-code-not-in-vs': () => 'None_of_the_provided_codes_are_in_the_value_set_one',
  'invalid-code': ({ severity }) => (severity === 'warning' ? 'UNKNOWN_CODE_IN_FRAGMENT' : 'Unknown_Code_in_Version'),
  'invalid-data': () => 'Coding_has_no_system__cannot_validate',
  'invalid-display': () => 'Display_Name_for__should_be_one_of__instead_of',
  'vs-invalid': () => 'VALUESET_VALUE_MISMATCH',
  'not-found': ({ at }) => (at === 'version' ? 'UNKNOWN_CODESYSTEM_VERSION' : 'UNKNOWN_CODESYSTEM'),
  'code-rule': ({ severity }) => (severity === 'error' ? 'ABSTRACT_CODE_NOT_ALLOWED' : 'CODE_CASE_DIFFERENCE'),
  'code-comment': () => 'INACTIVE_CONCEPT_FOUND',
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
    extension: [{ url: MESSAGE_ID, valueString: MESSAGE_IDS[detail](issue) }],
    severity,
    code: CODES[detail],
    details: { coding: [{ system: ISSUE_TYPES, code: detail }], text },
    ...(expression !== undefined && { expression: [expression] }),
  }
}
