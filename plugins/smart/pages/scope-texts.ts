/** What scopes mean, in plain words. A translation is another object of this type. */

export type Verb = 'view' | 'open' | 'search' | 'add' | 'change' | 'delete'
export type Mark = 'everything' | 'many' | 'changes' | 'lasting'

export interface ScopeTexts {
  /** Scopes with a fixed name: a title and a sentence. */
  readonly fixed: Readonly<Record<string, readonly [title: string, detail: string]>>
  readonly verbs: Readonly<Record<Verb, string>>
  /** Joins “View”, “add” and “delete”. */
  readonly list: (words: readonly string[]) => string
  /** Resources by type; other types are shown by their own name. */
  readonly types: Readonly<Record<string, string>>
  readonly otherType: (type: string) => string
  readonly everything: string
  /** Headings of the choices: `patient/`, `user/`, and how long the access lasts. */
  readonly inRecordOf: (patient: string | undefined) => string
  readonly inRecordsOfUser: string
  readonly forHowLong: string
  readonly details: Readonly<Record<Verb, string>>
  readonly onlyWhere: string
  readonly condition: (parameter: string, values: readonly string[]) => string
  readonly from: (value: string) => string
  readonly until: (value: string) => string
  readonly marks: Readonly<Record<Mark, string>>
}

const TYPES: Readonly<Record<string, string>> = {
  AllergyIntolerance: 'allergies and intolerances',
  Appointment: 'appointments',
  CarePlan: 'care plans',
  CareTeam: 'care teams',
  Claim: 'claims',
  Communication: 'messages',
  Condition: 'diagnoses and health problems',
  Consent: 'consents',
  Coverage: 'insurance',
  Device: 'devices',
  DiagnosticReport: 'reports of laboratory and imaging',
  DocumentReference: 'documents',
  Encounter: 'visits and stays',
  ExplanationOfBenefit: 'insurance statements',
  FamilyMemberHistory: 'illnesses in the family',
  Goal: 'goals of treatment',
  ImagingStudy: 'imaging studies',
  Immunization: 'vaccinations',
  Location: 'places of care',
  Medication: 'medicines',
  MedicationAdministration: 'medicines that were given',
  MedicationDispense: 'medicines that were handed out',
  MedicationRequest: 'prescriptions',
  MedicationStatement: 'medicines that are taken',
  Observation: 'measurements and test results',
  Organization: 'organizations of care',
  Patient: 'personal data such as name, birth date and address',
  Practitioner: 'practitioners',
  PractitionerRole: 'roles of practitioners',
  Procedure: 'procedures and operations',
  Questionnaire: 'questionnaires',
  QuestionnaireResponse: 'answers to questionnaires',
  RelatedPerson: 'relatives and caretakers',
  ServiceRequest: 'orders and referrals',
  Specimen: 'samples',
  Task: 'tasks',
}

export const englishScopes: ScopeTexts = {
  fixed: {
    openid: ['who you are', 'An identifier of your account, so that the app knows you when you come back.'],
    fhirUser: ['which record is your own', 'Your entry as a patient, practitioner or relative on this server.'],
    launch: ['what is open in the system that started it', 'The patient and the visit that you were working with.'],
    'launch/patient': ['which patient was chosen', 'So that it opens the right record.'],
    'launch/encounter': ['which visit was chosen', 'So that it opens the right visit.'],
    offline_access: [
      'Keep this access when you are gone',
      'The app can use what you allow here without you, also after you have signed out, until the access is withdrawn.',
    ],
    online_access: [
      'Keep this access while you are signed in',
      'The app can go on without asking you again; its access ends when you sign out.',
    ],
  },
  verbs: { view: 'View', open: 'Open single', search: 'Search', add: 'Add', change: 'Change', delete: 'Delete' },
  list: (words) => {
    const small = words.map((word, at) => (at === 0 ? word : word.toLowerCase()))
    return small.length < 2 ? small.join('') : `${small.slice(0, -1).join(', ')} and ${small.at(-1)}`
  },
  types: TYPES,
  otherType: (type) => `records of the type ${type}`,
  everything: 'everything',
  inRecordOf: (patient) => `In the record of ${patient ?? 'the patient'}`,
  inRecordsOfUser: 'In all records that you may see yourself',
  forHowLong: 'How long',
  details: {
    view: '',
    open: 'It can open a record that it knows of, but cannot search.',
    search: 'It can find records by their content.',
    add: '',
    change: '',
    delete: 'What it deletes disappears for everybody.',
  },
  onlyWhere: 'Only where:',
  condition: (parameter, values) => `${parameter} is ${values.join(' or ')}`,
  from: (value) => `from ${value}`,
  until: (value) => `until ${value}`,
  marks: {
    everything: 'Every kind of data',
    many: 'Many patients',
    changes: 'Changes records',
    lasting: 'Without you',
  },
}
