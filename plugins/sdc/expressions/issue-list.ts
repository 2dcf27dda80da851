/** Collects hints and warnings of a job, each once. */
import type { Issue, IssueCode } from '../../../kernel/index.ts'

/** More are left out: the answer stays readable. */
const MAX_ISSUES = 200

export interface IssueList {
  readonly all: readonly Issue[]
  /** `linkId`: of the item that it is about. */
  add(severity: Issue['severity'], code: IssueCode, diagnostics: string, linkId?: string): void
}

export const createIssueList = (): IssueList => {
  const all: Issue[] = []
  const seen = new Set<string>()
  return {
    all,
    add(severity, code, diagnostics, linkId) {
      const text = linkId === undefined ? diagnostics : `Item "${linkId.slice(0, 100)}": ${diagnostics}`
      if (seen.has(text) || all.length >= MAX_ISSUES) return
      seen.add(text)
      all.push({ severity, code, diagnostics: text })
    },
  }
}
