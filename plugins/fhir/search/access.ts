/**
 * A ruling at work: what of a type may be seen. Restrictions of several plugins are ANDed; what cannot be applied
 * refuses. The same conditions go into searches, chains, includes and counts, and judge single versions.
 */
import type { Restriction, Ruling } from '../../../kernel/index.ts'
import type { Asking } from './asking.ts'
import type { Condition } from './condition.ts'
import type { Criteria } from './criteria.ts'

export interface Access {
  /** True when nothing is restricted: the usual case, asked before anything is computed. */
  readonly open: boolean
  /** What resources of the type must meet; undefined when the type is closed altogether. */
  conditions(type: string): Promise<readonly Condition[] | undefined>
}

export const OPEN: Access = Object.freeze({ open: true, conditions: async () => [] })

const namesType = ({ types }: Restriction, type: string): boolean => types === undefined || types.includes(type)

/** Conditions inside a ruling are asked by the server: they pass through every type. */
export const toAccess = (ruling: Ruling, criteria: Criteria, asking: Omit<Asking, 'allowed'>): Access => {
  const { restrictions } = ruling
  if (restrictions.length === 0) return OPEN
  const unrestricted: Asking = { ...asking, allowed: async () => [] }
  const known = new Map<string, Promise<readonly Condition[] | undefined>>()
  const make = async (type: string): Promise<readonly Condition[] | undefined> => {
    const found: Condition[] = []
    for (const restriction of restrictions) {
      if (!namesType(restriction, type)) return undefined
      for (const condition of restriction.conditions ?? [])
        if (condition.type === type)
          for (const [name, value] of new URLSearchParams(condition.query))
            found.push(await criteria.toCondition(type, name, value, unrestricted))
      const { compartment } = restriction
      if (compartment !== undefined) {
        const inside = criteria.inCompartment(type, compartment, asking.baseUrl)
        if (inside === undefined) return undefined
        found.push(inside)
      }
    }
    return found
  }
  return {
    open: false,
    conditions(type) {
      const found = known.get(type) ?? make(type)
      known.set(type, found)
      return found
    },
  }
}
