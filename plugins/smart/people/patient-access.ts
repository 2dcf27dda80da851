/**
 * Which patients a person may open now. It depends on the person's own FHIR resource: a Patient or RelatedPerson may open one patient,
 * staff may open all, and a person without such a resource may open none. A demo login without a FHIR user counts as staff.
 */
import {
  type Caller,
  type Compartment,
  isServerError,
  type RequestContext,
  type Restriction,
} from '../../../kernel/index.ts'
import type { Resources, SessionReads } from '../../fhir/service.ts'
import type { LaunchContext } from '../grants/launch-context.ts'
import type { Person } from './person.ts'
import { localId, type RecordParts, readPersonRecord } from './person-record.ts'

/** `own` is the id of the only patient whom the person may open. */
export type PatientAccess =
  | { readonly kind: 'all' }
  | { readonly kind: 'own'; readonly own: string; readonly relatedTo?: string }
  | { readonly kind: 'none' }

/**
 * Undefined when the person may do nothing: the own record does not exist, is inactive or outside its period, or it is
 * that of a role whose practitioner is missing or does not count. Throws when a record cannot be read. `request` says
 * what the server's own URL is, which references may begin with.
 */
export const patientAccessOf = async (
  parts: RecordParts,
  request: Pick<RequestContext, 'ownUrl'>,
  { fhirUser, isDemo }: Pick<Person, 'fhirUser' | 'isDemo'>,
): Promise<PatientAccess | undefined> => {
  // A person without a record exists as long as the provider says so.
  if (fhirUser === undefined) return { kind: isDemo ? 'all' : 'none' }
  const [type = '', id = ''] = fhirUser.split('/')
  const record = await readPersonRecord(parts, type, id)
  if (record === undefined) return undefined
  if (type === 'Patient') return { kind: 'own', own: id }
  if (type === 'Practitioner') return { kind: 'all' }
  if (type === 'PractitionerRole') {
    const practitioner = localId(record.practitioner, 'Practitioner', request)
    const holder = practitioner && (await readPersonRecord(parts, 'Practitioner', practitioner))
    return holder ? { kind: 'all' } : undefined
  }
  if (type !== 'RelatedPerson') return { kind: 'none' }
  const own = localId(record.patient, 'Patient', request)
  return own === undefined ? { kind: 'none' } : { kind: 'own', own, relatedTo: own }
}

/**
 * False when a grant with this context is over: its person may do nothing any more, or may not open its patient.
 */
export const mayKeep = (access: PatientAccess | undefined, { patient }: LaunchContext): access is PatientAccess =>
  access !== undefined &&
  (patient === undefined || access.kind === 'all' || (access.kind === 'own' && access.own === patient))

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
