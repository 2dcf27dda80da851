/** The first refusal of a check, thrown with the issues of all. */
import type { Interaction, Issue, ServerError } from '../../kernel/index.ts'
import type { CurrentChange } from './change.ts'
import type { RejectedChange } from './write-check.ts'

/** What is told of the refusal of a check, and where that lies in what was sent. */
export type IssuesOf = (error: ServerError, interaction: Interaction) => readonly Issue[]

export const throwFirst = (
  refusals: readonly RejectedChange[] | undefined,
  issuesOf: IssuesOf,
  progress: CurrentChange | undefined,
): void => {
  const first = refusals?.[0]
  if (refusals === undefined || first === undefined) return
  const issues = refusals.flatMap(({ interaction, error }) => issuesOf(error, interaction))
  if (progress !== undefined) progress.interaction = first.interaction
  throw first.error.with({ issues })
}
