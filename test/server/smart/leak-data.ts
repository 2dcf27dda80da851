/** What the leak matrix stores, and twelve tokens with what they open, said once more by hand. */
import type { TestToken } from '../../support/scoped-callers.ts'

export type Json = Record<string, any>

/** Where a resource names its patient; `id` where it is the patient, null where it belongs to nobody. */
const PATIENT_IN: Readonly<Record<string, string | null>> = {
  AllergyIntolerance: 'patient',
  CarePlan: 'subject',
  CareTeam: 'subject',
  Claim: 'patient',
  Communication: 'subject',
  Condition: 'subject',
  Consent: 'patient',
  Coverage: 'beneficiary',
  // Names a patient, and is in no compartment of patients.
  Device: 'patient',
  DiagnosticReport: 'subject',
  DocumentReference: 'subject',
  Encounter: 'subject',
  ExplanationOfBenefit: 'patient',
  FamilyMemberHistory: 'patient',
  Flag: 'subject',
  Goal: 'subject',
  Immunization: 'patient',
  MedicationAdministration: 'subject',
  MedicationDispense: 'subject',
  MedicationRequest: 'subject',
  MedicationStatement: 'subject',
  Observation: 'subject',
  Organization: null,
  Patient: 'id',
  Practitioner: null,
  Procedure: 'subject',
  QuestionnaireResponse: 'subject',
  RelatedPerson: 'patient',
  ServiceRequest: 'subject',
  Specimen: 'subject',
}

export const TYPES: readonly string[] = Object.keys(PATIENT_IN)
export const PATIENTS = ['p1', 'p2', 'p3'] as const
/** Those that have a compartment of patients, by the definition of R4. */
const isInCompartment = (type: string): boolean => !['Device', 'Organization', 'Practitioner'].includes(type)

const TAG = 'http://tags.example'

const resourceOf = (type: string, id: string, patient: string, tag: string, status: string): Json => {
  const place = PATIENT_IN[type]
  return {
    resourceType: type,
    id,
    meta: { tag: [{ system: TAG, code: tag }] },
    ...(type === 'Observation' && { status, code: { text: 'x' } }),
    ...(place !== null && place !== undefined && place !== 'id' && { [place]: { reference: `Patient/${patient}` } }),
  }
}

/** A resource with its two versions, of which the first belonged to the next patient. */
export interface Stored {
  readonly type: string
  readonly id: string
  readonly versions: readonly [Json, Json]
}

export const STORED: readonly Stored[] = TYPES.flatMap((type, at) =>
  PATIENTS.map((patient, of) => {
    const id = type === 'Patient' ? patient : `x-${patient}`
    const [tag, next] = [(at + of) % 2 === 0 ? 'even' : 'odd', PATIENTS[(of + 1) % 3] as string]
    const first = resourceOf(type, id, next, tag, 'preliminary')
    const second = resourceOf(type, id, patient, tag, of === 2 ? 'preliminary' : 'final')
    return { type, id, versions: [first, { ...second, language: 'en' }] }
  }),
)

const belongsTo = (patient: string, one: Json): boolean => {
  const place = PATIENT_IN[one.resourceType]
  if (place === 'id') return one.id === patient
  return place !== null && place !== undefined && one[place]?.reference === `Patient/${patient}`
}

type Holds = (one: Json) => boolean
/** One thing that a token opens. */
interface Opened {
  readonly rights: string
  /** All where it is left out. */
  readonly type?: string
  readonly patient?: string
  readonly holds?: Holds
}
export interface LeakToken extends TestToken {
  readonly scope: string
  readonly opens: readonly Opened[]
}

const doc = 'Practitioner/doc'
const isEven: Holds = ({ meta }) => meta.tag[0].code === 'even'
const isFinal: Holds = ({ status }) => status === 'final'

export const TOKENS: readonly LeakToken[] = [
  { scope: 'system/*.cruds', opens: [{ rights: 'cruds' }] },
  { scope: 'system/*.read', opens: [{ rights: 'rs' }] },
  {
    scope: 'system/Observation.rs system/Condition.write system/Patient.r system/Goal.*',
    opens: [
      { rights: 'rs', type: 'Observation' },
      { rights: 'cud', type: 'Condition' },
      { rights: 'r', type: 'Patient' },
      { rights: 'cruds', type: 'Goal' },
    ],
  },
  { scope: 'patient/*.rs', user: doc, patient: 'p1', opens: [{ rights: 'rs', patient: 'p1' }] },
  { scope: 'launch/patient patient/*.*', patient: 'p2', opens: [{ rights: 'cruds', patient: 'p2' }] },
  {
    scope: 'patient/Observation.crus?status=final patient/Patient.r patient/Encounter.s patient/Practitioner.rs',
    user: doc,
    patient: 'p1',
    opens: [
      { rights: 'crus', type: 'Observation', patient: 'p1', holds: isFinal },
      { rights: 'r', type: 'Patient', patient: 'p1' },
      { rights: 's', type: 'Encounter', patient: 'p1' },
      { rights: 'rs', type: 'Practitioner' },
    ],
  },
  { scope: 'user/*.cruds', user: doc, opens: [{ rights: 'cruds' }] },
  {
    scope: 'user/*.rs user/Organization.cruds user/Device.ud',
    user: 'Patient/p3',
    opens: [
      { rights: 'rs', patient: 'p3' },
      { rights: 'rs', type: 'Organization' },
      { rights: 'ud', type: 'Device', patient: 'p3' },
    ],
  },
  {
    scope: 'user/*.read user/Flag.d',
    user: 'RelatedPerson/x-p2',
    related: 'p2',
    opens: [
      { rights: 'rs', patient: 'p2' },
      { rights: 'd', type: 'Flag', patient: 'p2' },
    ],
  },
  {
    scope: `patient/*.rs user/Observation.cruds?_tag=${TAG}|even user/*.c?_tag=${TAG}|even`,
    user: doc,
    patient: 'p1',
    opens: [
      { rights: 'rs', patient: 'p1' },
      { rights: 'cruds', type: 'Observation', holds: isEven },
      { rights: 'c', holds: isEven },
    ],
  },
  {
    scope: 'openid fhirUser launch patient/observation.rs patient/Observation.sr',
    user: doc,
    patient: 'p1',
    // `openid fhirUser` opens the resource that the claim fhirUser names.
    opens: [{ rights: 'r', type: 'Practitioner', holds: ({ id }) => id === 'doc' }],
  },
  // Nobody knows whose data it is about.
  { scope: 'patient/*.cruds user/*.cruds system/*.cruds', user: 'Person/somebody', opens: [] },
]

export interface LeakOracle {
  /** Does the right hold on this version? */
  holds(right: string, one: Json): boolean
  sees(one: Json): boolean
  /** Nothing gives the right on the type. */
  isNone(right: string, type: string): boolean
  /** The same, or what gives it is a compartment that never has the type. */
  isClosed(right: string, type: string): boolean
}

export const oracleOf = ({ opens }: LeakToken): LeakOracle => {
  const of = (right: string, type: string): readonly Opened[] =>
    opens.filter((one) => one.rights.includes(right) && (one.type === undefined || one.type === type))
  const holds: LeakOracle['holds'] = (right, one) =>
    of(right, one.resourceType).some(
      ({ patient, holds }) =>
        (patient === undefined || (isInCompartment(one.resourceType) && belongsTo(patient, one))) &&
        (holds === undefined || holds(one)),
    )
  return {
    holds,
    sees: (one) => holds('r', one) || holds('s', one),
    isNone: (right, type) => of(right, type).length === 0,
    isClosed: (right, type) => !of(right, type).some(({ patient }) => patient === undefined || isInCompartment(type)),
  }
}
