/** Turns the scopes of a token into a restriction. */
import type { Caller, Compartment, Grant, Restriction, Right, Rights } from '../../../kernel/index.ts'
import { CHALLENGE } from './challenge.ts'
import type { ResourceScope } from './scope.ts'

/**
 * Types that describe organizations, staff and supplies. They lie in no patient's compartment. A scope that names one
 * of them lets a caller who is bound to a patient read it, to see who has performed a test and where. A scope for `*`
 * covers only the compartment.
 */
export const SHARED_TYPES: ReadonlySet<string> = new Set([
  'Endpoint',
  'HealthcareService',
  'Location',
  'Medication',
  'Organization',
  'Practitioner',
  'PractitionerRole',
])

type Bound = Compartment | 'everything' | 'nothing'

const compartmentOf = (id: string): Compartment => ({ type: 'Patient', id })

/**
 * What a user may see: a Patient their own record, a RelatedPerson the record of its patient, a Practitioner
 * everything.
 */
const boundTo = ({ user = '', relatedTo }: Caller): Bound => {
  const [type, id] = user.split('/')
  if (type === 'Patient' && id) return compartmentOf(id)
  if (type === 'RelatedPerson' && relatedTo !== undefined) return compartmentOf(relatedTo)
  if ((type === 'Practitioner' || type === 'PractitionerRole') && id) return 'everything'
  // For other users the server does not know whose data they may see.
  return 'nothing'
}

const launchPatient = (caller: Caller): Bound => {
  const id = caller.launch?.patient
  if (id === undefined) return 'nothing'
  const own = boundTo(caller)
  // A patient's token for another patient is invalid, so it grants nothing; nor does that of a relation without patient.
  if (own === 'nothing' && caller.user?.startsWith('RelatedPerson/')) return 'nothing'
  return typeof own === 'object' && own.id !== id ? 'nothing' : compartmentOf(id)
}

const boundsOf = (caller: Caller): Readonly<Record<ResourceScope['level'], Bound>> => ({
  patient: launchPatient(caller),
  user: caller.kind === 'user' ? boundTo(caller) : 'nothing',
  // Users cannot consent to `system/` scopes, so these count only for a client that acts for itself.
  system: caller.kind === 'client' && caller.user === undefined ? 'everything' : 'nothing',
})

const readOnly = (rights: Rights): Rights => [...rights].filter((one) => one === 'r' || one === 's').join('') as Rights

const grantOf = ({ type, rights, conditions }: ResourceScope, bound: Bound): Grant | undefined => {
  if (bound === 'nothing') return undefined
  const query = conditions.length === 0 ? {} : { query: conditions.join('&') }
  if (bound === 'everything') return { rights, ...query }
  if (!SHARED_TYPES.has(type)) return { rights, ...query, compartment: bound }
  const reading = readOnly(rights)
  return reading === '' ? undefined : { rights: reading, ...query }
}

const ORDER: readonly Right[] = ['c', 'r', 'u', 'd', 's']

/** Merges grants that differ only in their rights. */
const joined = (grants: readonly Grant[]): readonly Grant[] => {
  const found = new Map<string, Grant>()
  for (const grant of grants) {
    const key = JSON.stringify([grant.query, grant.compartment?.id])
    const held = found.get(key)?.rights ?? ''
    const rights = ORDER.filter((one) => held.includes(one) || grant.rights.includes(one)).join('') as Rights
    found.set(key, { ...grant, rights })
  }
  return [...found.values()]
}

/**
 * The resource that the claim `fhirUser` names, which the client may read. SMART App Launch, "Scopes for requesting
 * identity data"
 */
const ownResource = ({ kind, user = '', scopes = [] }: Caller): readonly [type: string, grant: Grant] | undefined => {
  const [type = '', id = ''] = user.split('/')
  const isDisclosed = kind === 'user' && id !== '' && scopes.includes('openid') && scopes.includes('fhirUser')
  return isDisclosed ? [type, { rights: 'r', query: `_id=${id}` }] : undefined
}

/** Scopes of types that are not installed are left out. */
export const scopeRestriction = (
  scopes: readonly ResourceScope[],
  caller: Caller,
  isInstalled: (type: string) => boolean,
): Restriction => {
  const bounds = boundsOf(caller)
  const byType = new Map<string, Grant[]>()
  for (const scope of scopes) {
    if (scope.type !== '*' && !isInstalled(scope.type)) continue
    const grant = grantOf(scope, bounds[scope.level])
    if (grant !== undefined) byType.set(scope.type, [...(byType.get(scope.type) ?? []), grant])
  }
  const [ownType = '', ownGrant] = ownResource(caller) ?? []
  if (ownGrant !== undefined && isInstalled(ownType)) byType.set(ownType, [...(byType.get(ownType) ?? []), ownGrant])
  const others = joined(byType.get('*') ?? [])
  byType.delete('*')
  const types = Object.fromEntries([...byType].map(([type, grants]) => [type, joined([...grants, ...others])]))
  return { types, others, headers: { 'www-authenticate': CHALLENGE } }
}
