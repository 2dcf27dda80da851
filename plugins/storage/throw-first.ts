/** Throws the error of the first rejected change, with the issues of all of them. */
import type { ErrorExtras, Interaction, Issue, ServerError } from '../../kernel/index.ts'
import type { CurrentChange } from './change.ts'
import type { RejectedChange } from './write-check.ts'

/** The issues for one error, with the location of the interaction in the request, such as the entry of a Bundle. */
export type IssuesOf = (error: ServerError, interaction: Interaction) => readonly Issue[]

export const throwFirst = (
  refusals: readonly RejectedChange[],
  issuesOf: IssuesOf,
  progress: CurrentChange | undefined,
  patients: NonNullable<ErrorExtras['patients']>,
): void => {
  const first = refusals[0]
  if (first === undefined) return
  const issues = refusals.flatMap(({ interaction, error }) => issuesOf(error, interaction))
  if (progress !== undefined) progress.interaction = first.interaction
  throw first.error.with({ issues, patients })
}
