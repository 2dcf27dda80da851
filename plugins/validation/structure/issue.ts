/** An issue of the structure check, in the form of OperationOutcome.issue. */
import type { IssueCode } from '../../../kernel/index.ts'

export interface StructureIssue {
  readonly severity: 'error' | 'warning' | 'information'
  readonly code: IssueCode
  /** A sentence that says what is wrong, where, and what is expected. */
  readonly diagnostics: string
  /** One item: the FHIRPath of the element, e.g. `Patient.name[0].family`. */
  readonly expression: string[]
}
