/** Checks the shape of a restriction that a plugin gives. Anything that is not understood is refused, never ignored. */
import { RestrictionMalformed } from './errors.ts'
import { findOpenRights, OPEN_RIGHTS, type Restriction } from './restriction.ts'

type Json = Record<string, unknown>

const RIGHTS = /^c?r?u?d?s?$/
const HEADER = /^[\w!#$%&'*+.^`|~-]+$/

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)
const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

const unknownMember = (value: Json, known: readonly string[]): string | undefined =>
  Object.keys(value).find((name) => !known.includes(name))

/** What is wrong with a grant, or undefined. */
const faultOfGrant = (grant: unknown): string | undefined => {
  if (!isObject(grant)) return 'is not an object'
  const extra = unknownMember(grant, ['rights', 'query', 'compartment'])
  if (extra !== undefined) return `has a member "${extra}"`
  const { rights, query, compartment } = grant
  if (typeof rights !== 'string' || !RIGHTS.test(rights))
    return 'has rights that are not letters of "cruds", in that order'
  if (query !== undefined && !isText(query)) return 'has a query that is not a text with search parameters'
  if (compartment === undefined) return undefined
  const isCompartment =
    isObject(compartment) &&
    isText(compartment.type) &&
    isText(compartment.id) &&
    unknownMember(compartment, ['type', 'id']) === undefined
  if (!isCompartment) return 'has a compartment that is not { type, id }'
  return undefined
}

const faultOfGrants = (place: string, grants: unknown): string | undefined => {
  if (!Array.isArray(grants)) return `${place} is not a list of grants`
  for (const [at, grant] of grants.entries()) {
    const fault = faultOfGrant(grant)
    if (fault !== undefined) return `${place}[${at}] ${fault}`
  }
  return undefined
}

const faultOf = (value: unknown): string | undefined => {
  if (!isObject(value)) return 'it is not an object'
  if ('conditions' in value || 'compartment' in value || Array.isArray(value.types))
    return 'it has the form of kernel API 1 (types, conditions, compartment); see "From 1 to 2" in CONTRIBUTING.md'
  const extra = unknownMember(value, ['types', 'others', 'headers'])
  if (extra !== undefined) return `it has a member "${extra}"`
  const { types, others, headers } = value
  if (!isObject(types)) return 'types is not an object of grants by type'
  for (const [type, grants] of Object.entries(types)) {
    const fault = faultOfGrants(`types.${type}`, grants)
    if (fault !== undefined) return fault
  }
  if (headers !== undefined) {
    const isHeader = ([name, text]: readonly [string, unknown]): boolean =>
      HEADER.test(name) && typeof text === 'string'
    if (!isObject(headers) || !Object.entries(headers).every(isHeader)) return 'headers is not an object of texts'
  }
  return faultOfGrants('others', others)
}

/** Freezes each part separately: an object may be frozen while the objects inside it are not. */
const freezeAll = (restriction: Json): void => {
  const { types, others, headers } = restriction
  for (const grants of [others, ...Object.values(types as Json)]) {
    for (const grant of grants as readonly Json[]) {
      Object.freeze(grant.compartment)
      Object.freeze(grant)
    }
    Object.freeze(grants)
  }
  Object.freeze(types)
  Object.freeze(headers)
  Object.freeze(restriction)
}

/**
 * Checks and freezes a restriction; throws 500 for a malformed one. It is frozen because compiled conditions are cached
 * with it. One that its plugin has frozen cannot be marked as checked, and is checked each time.
 */
export const checkRestriction = (restriction: unknown): void => {
  if (isObject(restriction) && Object.hasOwn(restriction, OPEN_RIGHTS)) return
  const fault = faultOf(restriction)
  if (fault !== undefined) throw RestrictionMalformed().with({ detail: fault })
  // Not enumerable, so that a copy is checked again.
  if (Object.isExtensible(restriction))
    Object.defineProperty(restriction, OPEN_RIGHTS, { value: findOpenRights(restriction as unknown as Restriction) })
  freezeAll(restriction as Json)
}
