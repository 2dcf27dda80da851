/**
 * A ruling as search conditions: what resources of a type must match for a right to apply. One grant of a restriction
 * is enough; all restrictions must be met. The same conditions are used in searches, chains, includes and counts, and
 * for single versions.
 */
import {
  type Grant,
  grantsOf,
  isServerError,
  type Restriction,
  type Right,
  type Ruling,
  type ServerError,
} from '../../../kernel/index.ts'
import { RestrictionUnusable, TypeForbidden } from '../errors.ts'
import { allClause, anyClause, type ClauseText, type SearchClause } from '../query/clause.ts'
import type { Criteria } from '../query/criteria.ts'
import type { SearchContext } from '../query/search-context.ts'
import { type Readable, securityContextClause } from './security-context.ts'
import { typeForbidden } from './type-forbidden.ts'

export interface AccessFilter {
  /** True when nothing is restricted. Tested first, so that an unrestricted search computes no conditions. */
  readonly isUnrestricted: boolean
  /** Conditions that resources of the type must match. Undefined when the right applies to none of them. */
  conditions(type: string, right: Right): Promise<readonly SearchClause[] | undefined>
  /** The error for such a type: 403. */
  forbidden(type: string, right: Right): ServerError
}

export const UNRESTRICTED: AccessFilter = Object.freeze({
  isUnrestricted: true,
  conditions: async () => [],
  forbidden: (type: string) => TypeForbidden(type),
})

type GrantAsking = Omit<SearchContext, 'allowed' | 'forbidden'>

/** The conditions of a ruling are the server's, so a chain in them may pass through every resource. */
const allowAll: SearchContext['allowed'] = async () => []

const conditionsOf = async (
  { query, compartment }: Grant,
  type: string,
  criteria: Criteria,
  asking: GrantAsking,
): Promise<readonly SearchClause[] | undefined> => {
  const found: SearchClause[] = []
  if (compartment !== undefined) {
    const inside = criteria.inCompartment(type, compartment, asking.ownUrl)
    if (inside === undefined) return undefined
    found.push(inside)
  }
  const pairs = [...new URLSearchParams(query ?? '')]
  // A query without parameters would match everything.
  if (query !== undefined && pairs.length === 0) throw RestrictionUnusable().with({ detail: `no parameters: ${query}` })
  for (const [name, value] of pairs)
    found.push(await criteria.toClause(type, name, value, { ...asking, allowed: allowAll, forbidden: TypeForbidden }))
  return found
}

/** An invalid grant is an error of the plugin that made it, not of the client: it becomes a 500. */
const orUnusable = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work()
  } catch (error) {
    if (isServerError(error) && error.status < 500)
      throw RestrictionUnusable().with({ detail: error.message, cause: error })
    throw error
  }
}

const namedFor = (conditions: readonly SearchClause[]): ClauseText => ({
  text: conditions.map(({ text }) => text).join('&'),
  description: conditions.map(({ description }) => description).join(', and '),
})

/**
 * Conditions that one restriction sets for resources of a type; all must match. Empty when the right applies to every
 * resource, undefined when it applies to none.
 */
export const restrictionClauses = (
  restriction: Restriction,
  type: string,
  right: Right,
  criteria: Criteria,
  asking: GrantAsking,
): Promise<readonly SearchClause[] | undefined> =>
  orUnusable(async () => {
    const alternatives: (readonly SearchClause[])[] = []
    for (const grant of grantsOf(restriction, type)) {
      if (!grant.rights.includes(right)) continue
      const conditions = await conditionsOf(grant, type, criteria, asking)
      if (conditions?.length === 0) return []
      if (conditions !== undefined) alternatives.push(conditions)
    }
    const [only, ...others] = alternatives
    if (others.length === 0) return only
    const parts = alternatives.map((conditions) =>
      conditions.length === 1 ? (conditions[0] as SearchClause) : allClause(namedFor(conditions), conditions),
    )
    const text = parts.map((one) => one.text).join(' or ')
    return [anyClause({ text, description: 'any grant of this access' }, parts)]
  })

export const createAccessFilter = (ruling: Ruling, criteria: Criteria, asking: GrantAsking): AccessFilter => {
  if (ruling.covers()) return UNRESTRICTED
  const known = new Map<string, Promise<readonly SearchClause[] | undefined>>()
  const conditions: AccessFilter['conditions'] = (type, right) => {
    const key = `${right} ${type}`
    const found = known.get(key) ?? make(type, right)
    known.set(key, found)
    return found
  }
  const bySecurityContext = async (): Promise<SearchClause> => {
    const readable: Readable[] = []
    for (const type of criteria.types) {
      const met = type === 'Binary' ? undefined : await conditions(type, 'r')
      if (met !== undefined) readable.push({ type: criteria.typeCode(type), conditions: met })
    }
    return securityContextClause(criteria.registry, asking.ownUrl, readable)
  }
  const make = async (type: string, right: Right): Promise<readonly SearchClause[] | undefined> => {
    const found: SearchClause[] = []
    for (const restriction of ruling.restrictions) {
      const own = await restrictionClauses(restriction, type, right, criteria, asking)
      if (own === undefined) return undefined
      found.push(...own)
    }
    if (type === 'Binary' && !ruling.covers(['r'])) found.push(await bySecurityContext())
    return found
  }
  return { isUnrestricted: false, conditions, forbidden: (type, right) => typeForbidden(ruling, type, right) }
}

/** Resources that chains and `_has` pass through must be ones that the caller may search for. */
export const linkedBy = (access: AccessFilter): Pick<SearchContext, 'allowed' | 'forbidden'> => ({
  allowed: (type) => access.conditions(type, 's'),
  forbidden: (type) => access.forbidden(type, 's'),
})
