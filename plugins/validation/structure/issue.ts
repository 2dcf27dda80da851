/** What a check found: an issue of an OperationOutcome, with the FHIRPath of the element. */
import type { IssueCode } from '../../../kernel/index.ts'

export interface StructureIssue {
  readonly severity: 'error' | 'warning' | 'information'
  readonly code: IssueCode
  /** A sentence: what is wrong, where, and what is expected. */
  readonly diagnostics: string
  /** One FHIRPath, e.g. `Patient.name[0].family`. */
  readonly expression: string[]
}
