/**
 * A ruling as search conditions: what resources of a type must meet for a right to hold on them. Grants of a restriction
 * are alternatives; all restrictions apply. The same conditions go into searches, chains, includes and counts, and decide
 * on single versions.
 */
import {
  type Grant,
  grantsOf,
  isServerError,
  type Restriction,
  type Right,
  type Ruling,
} from '../../../kernel/index.ts'
import { RestrictionUnusable } from '../errors.ts'
import { allCondition, anyCondition, type Condition, type Named } from '../query/clause.ts'
import type { Criteria } from '../query/criteria.ts'
import type { Asking } from '../query/search-context.ts'
import { type Readable, securityContextCondition } from './security-context.ts'

export interface Access {
  /** True when nothing is restricted: asked before anything is computed. */
  readonly open: boolean
  /** What resources of the type must meet for the right to hold; undefined when it holds on none. */
  conditions(type: string, right: Right): Promise<readonly Condition[] | undefined>
}

export const OPEN: Access = Object.freeze({ open: true, conditions: async () => [] })

type GrantAsking = Omit<Asking, 'allowed'>

/** Every resource of every type: a condition of a ruling is asked by the server, and a chain in it passes through all. */
const allowAll: Asking['allowed'] = async () => []

const conditionsOf = async (
  { query, compartment }: Grant,
  type: string,
  criteria: Criteria,
  asking: GrantAsking,
): Promise<readonly Condition[] | undefined> => {
  const found: Condition[] = []
  if (compartment !== undefined) {
    const inside = criteria.inCompartment(type, compartment, asking.ownUrl)
    if (inside === undefined) return undefined
    found.push(inside)
  }
  const pairs = [...new URLSearchParams(query ?? '')]
  // A query without parameters would match everything.
  if (query !== undefined && pairs.length === 0) throw RestrictionUnusable().with({ detail: `no parameters: ${query}` })
  for (const [name, value] of pairs)
    found.push(await criteria.toCondition(type, name, value, { ...asking, allowed: allowAll }))
  return found
}

/** A grant that cannot be read is a fault of the plugin that made it, not of the client. */
const orUnusable = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work()
  } catch (error) {
    if (isServerError(error) && error.status < 500)
      throw RestrictionUnusable().with({ detail: error.message, cause: error })
    throw error
  }
}

const namedFor = (conditions: readonly Condition[]): Named => ({
  text: conditions.map(({ text }) => text).join('&'),
  understood: conditions.map(({ understood }) => understood).join(', and '),
})

/** What one restriction asks of resources of a type: conditions that must all hold, none of them for all resources. */
export const restrictionConditions = (
  restriction: Restriction,
  type: string,
  right: Right,
  criteria: Criteria,
  asking: GrantAsking,
): Promise<readonly Condition[] | undefined> =>
  orUnusable(async () => {
    const alternatives: (readonly Condition[])[] = []
    for (const grant of grantsOf(restriction, type)) {
      if (!grant.rights.includes(right)) continue
      const conditions = await conditionsOf(grant, type, criteria, asking)
      if (conditions?.length === 0) return []
      if (conditions !== undefined) alternatives.push(conditions)
    }
    const [only, ...others] = alternatives
    if (others.length === 0) return only
    const parts = alternatives.map((conditions) =>
      conditions.length === 1 ? (conditions[0] as Condition) : allCondition(namedFor(conditions), conditions),
    )
    const text = parts.map((one) => one.text).join(' or ')
    return [anyCondition({ text, understood: 'any grant of this access' }, parts)]
  })

export const toAccess = (ruling: Ruling, criteria: Criteria, asking: GrantAsking): Access => {
  if (ruling.covers()) return OPEN
  const known = new Map<string, Promise<readonly Condition[] | undefined>>()
  const conditions: Access['conditions'] = (type, right) => {
    const key = `${right} ${type}`
    const found = known.get(key) ?? make(type, right)
    known.set(key, found)
    return found
  }
  const bySecurityContext = async (): Promise<Condition> => {
    const readable: Readable[] = []
    for (const type of criteria.types) {
      const met = type === 'Binary' ? undefined : await conditions(type, 'r')
      if (met !== undefined) readable.push({ type: criteria.typeCode(type), conditions: met })
    }
    return securityContextCondition(criteria.registry, asking.ownUrl, readable)
  }
  const make = async (type: string, right: Right): Promise<readonly Condition[] | undefined> => {
    const found: Condition[] = []
    for (const restriction of ruling.restrictions) {
      const own = await restrictionConditions(restriction, type, right, criteria, asking)
      if (own === undefined) return undefined
      found.push(...own)
    }
    if (type === 'Binary' && !ruling.covers(['r'])) found.push(await bySecurityContext())
    return found
  }
  return { open: false, conditions }
}
