/** Locates the errors of an entry in its Bundle. */
import { type Interaction, type Issue, type ServerError, toIssues } from '../../../kernel/index.ts'

/**
 * `Patient.name[0]` → `Bundle.entry[3].resource.name[0]`; an expression that is no path into a resource →
 * `Bundle.entry[3]`.
 */
const locate = (expression: string, entry: string): string => {
  if (expression.startsWith('Bundle.entry[')) return expression
  const path = /^[A-Z][A-Za-z]*((?:[.[].*)?)$/s.exec(expression)?.[1]
  return path === undefined ? entry : `${entry}.resource${path}`
}

/** The issues of an error, each with the FHIRPath of the entry or of an element in it. */
export const issuesOfEntry = (error: ServerError, index: number): readonly Issue[] => {
  const entry = `Bundle.entry[${index}]`
  return toIssues(error).map((issue) => ({
    ...issue,
    expression: issue.expression?.map((one) => locate(one, entry)) ?? [entry],
  }))
}

/** Issues of a refused interaction. For an entry of a Bundle each issue names the entry. */
export const issuesOfRefusal = (error: ServerError, { entry }: Interaction): readonly Issue[] =>
  entry === undefined ? toIssues(error) : issuesOfEntry(error, entry)
