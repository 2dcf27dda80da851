/** The order in which the entries of a transaction are performed. https://hl7.org/fhir/R4/http.html#trules */
import { byLockKey, lockKeyOf } from '../../storage/service.ts'
import { RANK } from './bundle-request.ts'
import type { Located, Ruled } from './located-entry.ts'

const typeOf = ({ step }: Located): string => step.addressed.interaction.type ?? ''
export const isDeletion = ({ step }: Pick<Ruled, 'step'>): boolean => step.entry.method === 'DELETE'
/** `Type/id` of each resource that the entry changes. */
export const namesOf = (one: Located): readonly string[] =>
  [one.target.id, ...(one.target.others ?? [])].map((id) => `${typeOf(one)}/${id}`)
const lockKey = (one: Located): string => lockKeyOf({ type: typeOf(one), id: one.target.id })
/**
 * The order of R4. Existing resources are changed in the order of their type and id: two transactions that change the
 * same resources in different orders would deadlock.
 */
export const inOrder = (one: Located, other: Located): number => {
  const rank = RANK[one.step.entry.method]
  return rank - RANK[other.step.entry.method] || (rank === RANK.POST ? 0 : byLockKey(lockKey(one), lockKey(other)))
}
