/** In which order the entries of a transaction are performed. https://hl7.org/fhir/R4/http.html#trules */
import { RANK } from './bundle-request.ts'
import type { Located, Ruled } from './located-entry.ts'

const typeOf = ({ step }: Located): string => step.addressed.interaction.type ?? ''
const byText = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)
/** Conditions that found nothing hold their type, the others what they found: in one order everywhere, too. */
export const inHoldOrder = (one: Located, other: Located): number =>
  Number(one.target.found !== undefined) - Number(other.target.found !== undefined) ||
  byText(identityKeyOf(one), identityKeyOf(other))
export const isDeletion = ({ step }: Pick<Ruled, 'step'>): boolean => step.entry.method === 'DELETE'
/** `Type/id` of each resource it is about. */
export const namesOf = (one: Located): readonly string[] =>
  [one.target.id, ...(one.target.others ?? [])].map((id) => `${typeOf(one)}/${id}`)
const identityKeyOf = (one: Located): string => `${typeOf(one)}/${one.target.id}`
/**
 * The order that R4 lays down. What is there already is taken in one order everywhere: transactions that take the same
 * resources crosswise would wait for each other without end.
 */
export const inOrder = (one: Located, other: Located): number => {
  const rank = RANK[one.step.entry.method]
  return (
    rank - RANK[other.step.entry.method] || (rank === RANK.POST ? 0 : byText(identityKeyOf(one), identityKeyOf(other)))
  )
}
