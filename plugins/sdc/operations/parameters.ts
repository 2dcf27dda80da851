/** The answers of the operations: a resource, and issues where there are any. */
import { errorsFirst, type Issue } from '../../../kernel/index.ts'
import type { OperationAnswer } from '../../fhir/service.ts'

interface Named {
  readonly name: string
  readonly resource: object
}

const outcomeOf = (issue: readonly Issue[]): object => ({ resourceType: 'OperationOutcome', issue: errorsFirst(issue) })

/** Parameters with the resource, and with the issues under their name where there are any. */
export const withIssues = (first: Named, issues: readonly Issue[], issuesName: string): OperationAnswer => ({
  resource: {
    resourceType: 'Parameters',
    parameter: [first, ...(issues.length === 0 ? [] : [{ name: issuesName, resource: outcomeOf(issues) }])],
  },
})

/** The resource alone where there is nothing to say about it: R4 returns a single parameter `return` so. */
export const aloneOrWithIssues = (resource: object, issues: readonly Issue[], issuesName: string): OperationAnswer =>
  issues.length === 0 ? { resource } : withIssues({ name: 'return', resource }, issues, issuesName)
