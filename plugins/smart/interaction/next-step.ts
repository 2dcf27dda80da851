/**
 * What a request waits for once its person is known: the choice of a patient, of an encounter, or the consent. Context
 * that an EHR launch, the settings or the person's own record give is taken without asking, if the person may open it.
 */
import type { Clock, RequestContext } from '../../../kernel/index.ts'
import type { Resources, SessionReads } from '../../fhir/service.ts'
import type { LaunchContext } from '../grants/launch-context.ts'
import type { Step } from '../login-tables.ts'
import { openPatients, type PatientAccess, patientAccessOf, readIfOpen } from '../people/patient-access.ts'
import type { Person } from '../people/person.ts'
import type { PendingRequest } from './pending-request.ts'

export interface ContextParts {
  readonly resources: Resources
  readonly clock: Clock
  /** Spec: [smart] patient, encounter. */
  readonly preset: { readonly patient?: string; readonly encounter?: string }
  /** Spec: [smart.oidc] patient_from_fhir_user. */
  readonly skipsPicker: boolean
}

/** `denied`: the person may not open what was launched, or nothing at all. */
export type Next = { readonly step: Exclude<Step, 'login'>; readonly chosen: LaunchContext } | 'denied'

const isPatientScope = (scope: string): boolean => scope.startsWith('patient/')

const needsPatient = ({ params: { scope, launch } }: PendingRequest): boolean => {
  const scopes = scope.split(' ')
  return (
    launch?.patient !== undefined ||
    scopes.some((one) => one === 'launch/patient' || one === 'launch/encounter' || isPatientScope(one))
  )
}

/** The patient to take without asking; `must` where another one does not do. */
const candidate = (
  { params: { launch } }: PendingRequest,
  { isDemo }: Person,
  access: PatientAccess,
  { preset, skipsPicker }: ContextParts,
): { readonly id: string; readonly must: boolean } | undefined => {
  if (launch?.patient !== undefined) return { id: launch.patient, must: true }
  if (access.kind === 'own') {
    // A RelatedPerson has one patient; whether a Patient is asked is a setting of the provider's login.
    const isTaken = isDemo || skipsPicker || access.relatedTo !== undefined
    return isTaken ? { id: access.own, must: true } : undefined
  }
  return preset.patient === undefined ? undefined : { id: preset.patient, must: false }
}

/** Sessions that read as the person: for patients, and for what belongs to one patient. */
export const readsOf = async (
  parts: Pick<ContextParts, 'resources' | 'clock'>,
  request: RequestContext,
  { client }: PendingRequest,
  person: Person,
) => {
  const { resources } = parts
  const access = (await patientAccessOf(parts, request, person)) ?? { kind: 'none' }
  const open = (patient?: string): SessionReads => openPatients({ resources, request, client }, person, access, patient)
  return { access, open }
}

/** True when the person has encounters of the patient to choose from. */
const hasEncounters = async (reads: SessionReads): Promise<boolean> =>
  (await reads.search('Encounter', '_count=1')).matches.length > 0

const nextEncounter = async (
  parts: ContextParts,
  { params: { scope, launch } }: PendingRequest,
  chosen: LaunchContext,
  reads: SessionReads,
): Promise<Next> => {
  if (launch?.encounter !== undefined) {
    const isOpen = (await readIfOpen(reads, 'Encounter', launch.encounter)) !== undefined
    return isOpen ? { step: 'consent', chosen: { ...chosen, encounter: launch.encounter } } : 'denied'
  }
  if (!scope.split(' ').includes('launch/encounter')) return { step: 'consent', chosen }
  const { encounter } = parts.preset
  if (encounter !== undefined && (await readIfOpen(reads, 'Encounter', encounter)) !== undefined)
    return { step: 'consent', chosen: { ...chosen, encounter } }
  // Without any encounter nobody could go on; the client gets none then.
  return { step: (await hasEncounters(reads)) ? 'encounter' : 'consent', chosen }
}

/** `chosen` holds what the person has chosen in the steps before. */
export const nextStep = async (
  parts: ContextParts,
  request: RequestContext,
  pending: PendingRequest,
  person: Person,
  chosen: LaunchContext,
): Promise<Next> => {
  const { launch } = pending.params
  const base: LaunchContext =
    launch?.fhirContext === undefined ? chosen : { ...chosen, fhirContext: launch.fhirContext }
  if (!needsPatient(pending)) return { step: 'consent', chosen: base }
  const { access, open } = await readsOf(parts, request, pending, person)
  if (access.kind === 'none') return 'denied'
  if (base.patient !== undefined && base.encounter !== undefined) return { step: 'consent', chosen: base }
  if (base.patient !== undefined) return nextEncounter(parts, pending, base, open(base.patient))
  const given = candidate(pending, person, access, parts)
  if (given === undefined) return { step: 'patient', chosen: base }
  if ((await readIfOpen(open(given.id), 'Patient', given.id)) === undefined)
    return given.must ? 'denied' : { step: 'patient', chosen: base }
  return nextEncounter(parts, pending, { ...base, patient: given.id }, open(given.id))
}
