/**
 * Which patients a person may open in a launch: for a Patient or RelatedPerson their own, for staff all, and nobody's
 * for a person of whom the server knows nothing. A demo login without a FHIR user counts as staff.
 */
import {
  type Caller,
  type Compartment,
  isServerError,
  type RequestContext,
  type Restriction,
} from '../../../kernel/index.ts'
import type { Resources, SessionReads } from '../../fhir/service.ts'
import { boundPatient } from '../scopes/bound-patient.ts'
import type { Person } from './person.ts'

/** `own` is the id of the only patient whom the person may open. */
export type PatientAccess =
  | { readonly kind: 'all' }
  | { readonly kind: 'own'; readonly own: string; readonly relatedTo?: string }
  | { readonly kind: 'none' }

export const patientAccessOf = async (resources: Resources, { fhirUser, isDemo }: Person): Promise<PatientAccess> => {
  if (fhirUser === undefined) return isDemo ? { kind: 'all' } : { kind: 'none' }
  const [type, id = ''] = fhirUser.split('/')
  if (type === 'Practitioner' || type === 'PractitionerRole') return { kind: 'all' }
  if (type === 'Patient') return { kind: 'own', own: id }
  const own = await boundPatient(resources, fhirUser)
  return own === undefined ? { kind: 'none' } : { kind: 'own', own, relatedTo: own }
}

const restrictionTo = (compartment: Compartment | undefined): Restriction => {
  const grants = [{ rights: 'rs' as const, ...(compartment !== undefined && { compartment }) }]
  return { types: { Patient: grants, Encounter: grants }, others: [] }
}

/**
 * Reads patients and encounters as what the person may see; with a `patient`, those in this patient's compartment only.
 * The reads are in the audit trail under the person and the client.
 */
export const openPatients = (
  { resources, request, client }: { resources: Resources; request: RequestContext; client: string },
  { fhirUser }: Person,
  access: PatientAccess,
  patient?: string,
): SessionReads => {
  const only = access.kind === 'own' ? access.own : patient
  const caller: Caller = {
    kind: 'user',
    client,
    ...(fhirUser !== undefined && { user: fhirUser }),
    ...(access.kind === 'own' && access.relatedTo !== undefined && { relatedTo: access.relatedTo }),
  }
  const restrictions =
    access.kind === 'none'
      ? [{ types: {}, others: [] }]
      : [restrictionTo(only === undefined ? undefined : { type: 'Patient', id: only })]
  return resources.as({ kind: 'stored', caller, restrictions, purpose: 'launch', baseUrl: request.baseUrl })
}

/** The resource as it is shown to this session, parsed; undefined when it does not exist or is hidden. */
export const readIfOpen = async (
  session: SessionReads,
  type: string,
  id: string,
): Promise<Record<string, unknown> | undefined> => {
  try {
    return (await session.read(type, id)).parse()
  } catch (error) {
    if (isServerError(error) && error.status < 500) return undefined
    throw error
  }
}
