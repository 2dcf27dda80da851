/**
 * The access decision of one interaction, made by the taps of `authorize`. Taps can refuse or narrow; nothing can
 * widen.
 */
import { checkRestriction } from './check-restriction.ts'
import type { ServerError } from './server-error.ts'

/** Create, read, update, delete, search: the letters of SMART App Launch 2, https://hl7.org/fhir/smart-app-launch/ */
export type Right = 'c' | 'r' | 'u' | 'd' | 's'
/** Some rights, in that order: `rs`, `cruds`. */
export type Rights = `${'c' | ''}${'r' | ''}${'u' | ''}${'d' | ''}${'s' | ''}`

/** A compartment that data must lie in, e.g. `{ type: 'Patient', id: 'p1' }`. */
export interface Compartment {
  readonly type: string
  readonly id: string
}

/**
 * Rights on the resources of a type that match `query` and lie in `compartment`; on all of them where neither is given.
 */
export interface Grant {
  readonly rights: Rights
  /** Search parameters: `category=laboratory&status=final`. All must match; a comma means any of the values. */
  readonly query?: string
  readonly compartment?: Compartment
}

/** All rights on all resources of a type. */
export const ALL: Grant = Object.freeze({ rights: 'cruds' })

/**
 * Plain data, frozen once it is in use. Give the same object for the same token: compiled conditions are cached with
 * it.
 */
export interface Restriction {
  /** Grants of each type; any one of them is sufficient. */
  readonly types: Readonly<Record<string, readonly Grant[]>>
  /** Grants of the types not named in `types`; an empty list closes them. */
  readonly others: readonly Grant[]
  /** Sent with a 403 that this restriction causes, e.g. `WWW-Authenticate`. */
  readonly headers?: Readonly<Record<string, string>>
}

/** What a ruling says of a type without looking at data. */
export type Extent = 'all' | 'some' | 'none'

/** The grants of a restriction that concern a type. */
export const grantsOf = ({ types, others }: Restriction, type: string): readonly Grant[] =>
  Object.hasOwn(types, type) ? (types[type] as readonly Grant[]) : others

const isOpen = ({ query, compartment }: Grant): boolean => query === undefined && compartment === undefined

/** What one restriction says of a right on a type. */
export const extentOf = (restriction: Restriction, type: string, right: Right): Extent => {
  let extent: Extent = 'none'
  for (const grant of grantsOf(restriction, type))
    if (grant.rights.includes(right)) {
      if (isOpen(grant)) return 'all'
      extent = 'some'
    }
  return extent
}

const RIGHTS: readonly Right[] = ['c', 'r', 'u', 'd', 's']
const opens = (grants: readonly Grant[], right: Right): boolean =>
  grants.some((grant) => isOpen(grant) && grant.rights.includes(right))

/** All restrictions of a ruling apply together: what any one of them does not grant is not granted. */
export class Ruling {
  readonly #restrictions: Restriction[] = []

  /** As they were added; `restrict` is the only way to add one. */
  get restrictions(): readonly Restriction[] {
    return this.#restrictions
  }

  /** Ends the interaction: the error is thrown, and the first refusal wins. */
  refuse(error: ServerError): never {
    throw error
  }

  /** Throws 500 for a value that is not a Restriction: a malformed one must not be read as an open one. */
  restrict(restriction: Restriction): void {
    checkRestriction(restriction)
    this.#restrictions.push(restriction)
  }

  /** What is known of a right on a type without looking at data. */
  extent(type: string, right: Right): Extent {
    let extent: Extent = 'all'
    for (const restriction of this.#restrictions) {
      const own = extentOf(restriction, type, right)
      if (own === 'none') return 'none'
      if (own === 'some') extent = 'some'
    }
    return extent
  }

  /** True when these rights (all rights, when left out) hold on every resource of every type. */
  covers(rights: readonly Right[] = RIGHTS): boolean {
    return this.restrictions.every(({ types, others }) =>
      [others, ...Object.values(types)].every((grants) => rights.every((right) => opens(grants, right))),
    )
  }

  /** Headers of the restrictions for which `causes` holds: they go with the 403 that these cause. */
  headersWhere(causes: (restriction: Restriction) => boolean): Readonly<Record<string, string>> {
    return Object.assign({}, ...this.restrictions.filter(causes).map(({ headers }) => headers))
  }
}
