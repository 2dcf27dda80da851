/** Makes the error that refuses a resource from its faults. */
import type { Issue, ServerError } from '../../kernel/index.ts'
import type { ReadReference, References } from '../fhir/service.ts'
import { ReferencesRefused } from './errors.ts'
import type { ReferenceIssue } from './reference-issue.ts'

const MAX_ISSUES = 100
const MAX_CHARACTERS = 200 // of a target in a message

export interface FoundReferenceIssue {
  /** Index in the list of references. */
  readonly at: number
  readonly reference: ReadReference
  readonly fault: ReferenceIssue
}

const abbreviated = (text: string): string =>
  text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text

const targetOf = ({ text }: ReadReference): string => (text === '' ? 'an identifier' : abbreviated(text))

/** One issue for each fault, with the FHIRPath of the Reference. */
export const refusalOf = (
  references: References,
  resource: Readonly<Record<string, unknown>>,
  faults: readonly FoundReferenceIssue[],
): ServerError => {
  const paths = references.paths(resource)
  const issues = faults.slice(0, MAX_ISSUES).map(({ at, reference, fault }): Issue => {
    const path = paths[at] ?? String(resource.resourceType)
    const diagnostics = `${path} refers to ${targetOf(reference)}, ${fault.text}.`
    return { severity: 'error', code: fault.code, diagnostics, expression: [path] }
  })
  const rest = faults.length - issues.length
  if (rest > 0)
    issues.push({
      severity: 'information',
      code: 'informational',
      diagnostics: `${rest} more ${rest === 1 ? 'issue is' : 'issues are'} not listed.`,
    })
  return ReferencesRefused().with({ issues })
}
