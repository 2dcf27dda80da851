/**
 * What is wrong with the structure of a CodeSystem, ValueSet or ConceptMap that nobody has validated: the elements that answers
 * are made of. What else such a resource holds is not looked at.
 */
import type { Steps } from './in-slices.ts'

type Json = Readonly<Record<string, unknown>>

/** A kind of element: a text, an object, or a list of either. Of an object, the elements that are looked at. */
interface Kind {
  readonly isList: boolean
  readonly isText: boolean
  readonly members: Readonly<Record<string, Kind>>
  /** Names of members that must be there. */
  readonly required: readonly string[]
}

const TEXT: Kind = { isList: false, isText: true, members: {}, required: [] }
const TEXTS: Kind = { ...TEXT, isList: true }
const object = (members: Kind['members'], required: readonly string[] = []): Kind => ({
  ...{ isList: false, isText: false, members, required },
})
const list = (members: Kind['members'], required: readonly string[] = []): Kind => ({
  ...object(members, required),
  isList: true,
})
/** Elements of this kind have a member of this name with elements of the same kind. */
const nested = (name: string, members: Kind['members'], required: readonly string[] = []): Kind => {
  const own: Record<string, Kind> = { ...members }
  const kind = list(own, required)
  own[name] = kind
  return kind
}

const DESIGNATION = list({ use: object({}) })
const INCLUDE = list({
  ...{ system: TEXT, version: TEXT, valueSet: TEXTS },
  concept: list({ code: TEXT, designation: DESIGNATION }, ['code']),
  filter: list({ property: TEXT, op: TEXT, value: TEXT }, ['property', 'op', 'value']),
})
const VALUE_SET: Kind['members'] = {
  extension: list({}),
  compose: object({ include: INCLUDE, exclude: INCLUDE }),
  expansion: object({
    contains: nested('contains', {
      ...{ system: TEXT, version: TEXT, code: TEXT, display: TEXT, designation: DESIGNATION },
    }),
  }),
}
const KINDS: Readonly<Record<string, Kind>> = {
  CodeSystem: object({
    property: list({}),
    concept: nested('concept', { code: TEXT, designation: DESIGNATION, property: list({ valueCoding: object({}) }) }, [
      'code',
    ]),
  }),
  ValueSet: object({ ...VALUE_SET, contained: list(VALUE_SET) }),
  ConceptMap: object({
    group: list({
      unmapped: object({}),
      element: list({ target: list({ dependsOn: list({}), product: list({}) }) }),
    }),
  }),
}

/** Two of them for each level of nested concepts. */
const MAX_DEPTH = 400
const AT_ONCE = 1_000 // values that are looked at without a pause

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

interface Place {
  readonly value: unknown
  /** Undefined where any value will do. */
  readonly kind: Kind | undefined
  readonly depth: number
  readonly name: string
}

const faultAt = ({ value, kind, name }: Place): string | undefined => {
  if (kind === undefined) return undefined
  if (kind.isList) return Array.isArray(value) ? undefined : `${name} is no list`
  if (kind.isText) return typeof value === 'string' ? undefined : `${name} is no text`
  if (!isObject(value)) return `${name} is no object`
  const missing = kind.required.find((one) => value[one] === undefined)
  return missing === undefined ? undefined : `${name} has no ${missing}`
}

/** A phrase about the first fault that is found; undefined where there is none. */
export function* structureFault(resource: Json): Steps<string | undefined> {
  const name = String(resource.resourceType)
  const open: Place[] = [{ value: resource, kind: KINDS[name], depth: 0, name }]
  let seen = 0
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    seen += 1
    if (seen % AT_ONCE === 0) yield
    const fault = faultAt(at)
    if (fault !== undefined) return fault
    const { value, kind } = at
    if (typeof value !== 'object' || value === null) continue
    const depth = at.depth + 1
    if (depth > MAX_DEPTH) return `it is nested more than ${MAX_DEPTH} levels deep`
    if (Array.isArray(value)) {
      const one = kind && { ...kind, isList: false }
      for (const inner of value) open.push({ value: inner, kind: one, depth, name: `an element of ${at.name}` })
    } else
      for (const [member, inner] of Object.entries(value))
        open.push({ value: inner, kind: kind && memberOf(kind, member), depth, name: member })
  }
  return undefined
}

const memberOf = ({ members }: Kind, name: string): Kind | undefined =>
  Object.hasOwn(members, name) ? members[name] : undefined
