/** The order of issues in an OperationOutcome: errors come before warnings and information. */

const RANK: Readonly<Record<string, number>> = { fatal: 0, error: 1, warning: 2, information: 3 }

const rankOf = ({ severity }: { readonly severity: string }): number => RANK[severity] ?? RANK.information!

/** By severity; issues of one severity keep their order. */
export const errorsFirst = <T extends { readonly severity: string }>(issues: readonly T[]): readonly T[] =>
  issues.length < 2 ? issues : issues.toSorted((a, b) => rankOf(a) - rankOf(b))
