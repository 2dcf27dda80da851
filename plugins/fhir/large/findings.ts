/** The results of a thread about a large resource: what a write needs besides its text. */
import type { Issue } from '../../../kernel/index.ts'
import type { IndexFindings } from '../../search/service.ts'
import { type Findings, findingsOf } from '../../storage/service.ts'

export interface LargeFindings extends IndexFindings {
  /** Warnings of the validation. */
  readonly issues: readonly Issue[]
}

const hasIssues = (findings: Findings | undefined): findings is LargeFindings =>
  findings !== undefined && 'issues' in findings

/** Undefined for a resource that was validated on the main thread. */
export const issuesFound = (resource: Readonly<Record<string, unknown>>): readonly Issue[] | undefined => {
  const findings = findingsOf(resource)
  return hasIssues(findings) ? findings.issues : undefined
}
