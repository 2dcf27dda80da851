/** Rulings by chance, and what they mean, read from the JSON of the resources: independent of the server. */
import type { Compartment, Grant, Restriction, Right, Rights } from '../../../kernel/index.ts'
import { COMPARTMENT, CURRENT, type Json, nameOf, QUERIES, RIGHTS, TYPES } from './matrix-data.ts'

export type Random = (below: number) => number

/** Xorshift: the same rulings each time. */
export const randomFrom = (seed: number): Random => {
  let state = seed
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}
const pick = <T>(random: Random, list: readonly T[]): T => list[random(list.length)] as T

const randomGrant = (random: Random, type: string | undefined): Grant => {
  const rights = RIGHTS.filter(() => random(3) > 0).join('') as Rights
  const query = type !== undefined && random(2) === 0 ? pick(random, QUERIES[type] ?? []).text : undefined
  const compartment: Compartment | undefined =
    random(3) === 0 ? { type: 'Patient', id: pick(random, ['p1', 'p2', 'nobody']) } : undefined
  return { rights, ...(query && { query }), ...(compartment && { compartment }) }
}
/** 0 to 3 grants a type. */
export const randomRestriction = (random: Random): Restriction => {
  const grants = (type: string | undefined): readonly Grant[] =>
    Array.from({ length: random(4) }, () => randomGrant(random, type))
  const types: Record<string, readonly Grant[]> = {}
  for (const type of TYPES) if (random(5) > 0) types[type] = grants(type)
  return { types, others: grants(undefined) }
}

const isOpen = ({ query, compartment }: Grant): boolean => query === undefined && compartment === undefined

export interface Oracle {
  /** Does the right hold on this version, its security context included? */
  holds(right: Right, one: Json): boolean
  /** By the content alone. */
  holdsItself(right: Right, one: Json): boolean
  sees(one: Json): boolean
  isAll(right: Right, type: string): boolean
  /** No grant has the right. */
  isNone(right: Right, type: string): boolean
  /** The same, or all that do lie in a compartment that never has the type. */
  isClosed(right: Right, type: string): boolean
  /** The rights hold on everything. */
  covers(...rights: readonly Right[]): boolean
}

export const oracleOf = (restrictions: readonly Restriction[]): Oracle => {
  const grantsOf = ({ types, others }: Restriction, type: string): readonly Grant[] => types[type] ?? others
  const every = (type: string, some: (grant: Grant) => boolean): boolean =>
    restrictions.every((restriction) => grantsOf(restriction, type).some(some))
  const grants = ({ rights, query, compartment }: Grant, right: Right, one: Json): boolean =>
    rights.includes(right) &&
    (compartment === undefined || (COMPARTMENT[one.resourceType]?.(one) ?? []).includes(`Patient/${compartment.id}`)) &&
    (query === undefined || QUERIES[one.resourceType]?.find(({ text }) => text === query)?.holds(one) === true)
  const covers: Oracle['covers'] = (...rights) =>
    restrictions.every(({ types, others }) =>
      [others, ...Object.values(types)].every((list) =>
        rights.every((right) => list.some((grant) => isOpen(grant) && grant.rights.includes(right))),
      ),
    )
  const holdsItself: Oracle['holdsItself'] = (right, one) =>
    every(one.resourceType, (grant) => grants(grant, right, one))
  const holds: Oracle['holds'] = (right, one) => {
    if (!holdsItself(right, one)) return false
    const context = one.securityContext?.reference
    if (context === undefined || covers('r')) return true
    const found = CURRENT.find((other) => nameOf(other) === context)
    return found !== undefined && holdsItself('r', found)
  }
  return {
    holds,
    holdsItself,
    sees: (one) => holds('r', one) || holds('s', one),
    covers,
    isAll: (right, type) =>
      every(type, (grant) => isOpen(grant) && grant.rights.includes(right)) && (type !== 'Binary' || covers('r')),
    isNone: (right, type) => !every(type, ({ rights }) => rights.includes(right)),
    isClosed: (right, type) =>
      !every(
        type,
        ({ rights, compartment }) =>
          rights.includes(right) && (compartment === undefined || COMPARTMENT[type] !== undefined),
      ),
  }
}
