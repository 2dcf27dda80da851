/** `fhirContext` of a launch: other resources that the app should know. SMART App Launch, "fhirContext" */
import type { FhirContextItem } from '../grants/launch-context.ts'
import { InvalidRequest } from '../oauth-errors.ts'

const MAX_ITEMS = 50
const MAX_CHARACTERS = 8_000
const REFERENCE = /^([A-Z][A-Za-z]*)\/[A-Za-z0-9.-]{1,64}$/
/** The role of an item that names none. */
const USUAL_ROLE = 'launch'

const isObject = (value: unknown): value is FhirContextItem =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const faultOf = (item: unknown): string | undefined => {
  if (!isObject(item)) return 'an item is not an object'
  const { reference, canonical, identifier, type, role } = item
  if (reference === undefined && canonical === undefined && identifier === undefined)
    return 'an item has no reference, canonical or identifier'
  if (role !== undefined && (typeof role !== 'string' || role === '')) return 'role is not a text'
  if (canonical !== undefined && typeof canonical !== 'string') return 'canonical is not a text'
  if (identifier !== undefined && !isObject(identifier)) return 'identifier is not an object'
  if (type !== undefined && typeof type !== 'string') return 'type is not a text'
  const target = typeof reference === 'string' ? REFERENCE.exec(reference)?.[1] : undefined
  if (reference !== undefined && target === undefined) return 'reference is not a relative one, such as Task/1'
  const isMain = target === 'Patient' || target === 'Encounter' || type === 'Patient' || type === 'Encounter'
  return isMain && (role ?? USUAL_ROLE) === USUAL_ROLE
    ? 'patient and encounter are parameters of their own; here they need another role'
    : undefined
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Parses the JSON of the parameter. Throws `InvalidRequest`. */
export const readFhirContext = (text: string | undefined): readonly FhirContextItem[] | undefined => {
  if (text === undefined) return undefined
  const items = text.length > MAX_CHARACTERS ? undefined : parsed(text)
  if (!Array.isArray(items) || items.length > MAX_ITEMS)
    throw InvalidRequest(`fhirContext is not a JSON list of at most ${MAX_ITEMS} items`)
  const fault = items.map(faultOf).find((one) => one !== undefined)
  if (fault !== undefined) throw InvalidRequest(`fhirContext: ${fault}`)
  return items as readonly FhirContextItem[]
}
