/** What a ruling says, without the values in the searches of its grants and without ids. */
import type { Grant, Interaction, Restriction } from '../../kernel/index.ts'
import type { Details } from './trace.ts'

const parametersOf = (query: string): readonly string[] => [...new URLSearchParams(query).keys()]

const summarizeGrant = ({ rights, query, compartment }: Grant): Details => ({
  rights,
  ...(query !== undefined && { parameters: parametersOf(query) }),
  ...(compartment !== undefined && { compartment: compartment.type }),
})

const summarizeRestriction = ({ types, others }: Restriction): Details => ({
  types: Object.fromEntries(Object.entries(types).map(([type, grants]) => [type, grants.map(summarizeGrant)])),
  others: others.map(summarizeGrant),
})

export const summarizeRuling = (
  { kind, type, operation, entry }: Interaction,
  restrictions: readonly Restriction[],
): Details => ({
  interaction: kind,
  ...(type !== undefined && { type }),
  ...(operation !== undefined && { operation }),
  ...(entry !== undefined && { entry }),
  restrictions: restrictions.map(summarizeRestriction),
})
