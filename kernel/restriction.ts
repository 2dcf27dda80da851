/** What a plugin allows a caller: rights by type, and what follows from them without looking at data. */

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

export const RIGHTS: readonly Right[] = ['c', 'r', 'u', 'd', 's']

/** True for a grant on all resources of its type. */
export const isOpen = ({ query, compartment }: Grant): boolean => query === undefined && compartment === undefined

const opens = (grants: readonly Grant[], right: Right): boolean =>
  grants.some((grant) => isOpen(grant) && grant.rights.includes(right))

/** The rights on every resource of every type. */
export const findOpenRights = ({ types, others }: Restriction): readonly Right[] => {
  const lists = [others, ...Object.values(types)]
  return RIGHTS.filter((right) => lists.every((grants) => opens(grants, right)))
}

/** Where a restriction keeps them, since reads ask for them each time. It marks one that was checked and is frozen. */
export const OPEN_RIGHTS = Symbol('open rights')

export const openRightsOf = (restriction: Restriction): readonly Right[] =>
  (restriction as { readonly [OPEN_RIGHTS]?: readonly Right[] })[OPEN_RIGHTS] ?? findOpenRights(restriction)
