/** The order in which the entries of a transaction are performed. https://hl7.org/fhir/R4/http.html#trules */
import { RANK } from './bundle-request.ts'
import type { Located, Ruled } from './located-entry.ts'

const typeOf = ({ step }: Located): string => step.addressed.interaction.type ?? ''
const byText = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)
export const isDeletion = ({ step }: Pick<Ruled, 'step'>): boolean => step.entry.method === 'DELETE'
/** `Type/id` of each resource that the entry changes. */
export const namesOf = (one: Located): readonly string[] =>
  [one.target.id, ...(one.target.others ?? [])].map((id) => `${typeOf(one)}/${id}`)
const identityKeyOf = (one: Located): string => `${typeOf(one)}/${one.target.id}`
/**
 * The order of R4. Existing resources are changed in the order of their type and id: two transactions that change the
 * same resources in different orders would deadlock.
 */
export const inOrder = (one: Located, other: Located): number => {
  const rank = RANK[one.step.entry.method]
  return (
    rank - RANK[other.step.entry.method] || (rank === RANK.POST ? 0 : byText(identityKeyOf(one), identityKeyOf(other)))
  )
}
