/** Each page of the login with content as it may come, for tests that look at pages without a login. */
import { createPages } from '../../plugins/smart/pages/pages.ts'

const form = { action: '/oauth/interaction/i1/step', csrf: 'csrf-1' }
const clientName = 'Growth Chart'

const patients = [
  {
    id: 'p1',
    name: 'Anna Maria Sørensen-Kowalczyk',
    birthDate: '1984-03-09',
    gender: 'female',
    identifier: 'MRN 0048213',
  },
  { id: 'p2', name: 'Jonas Berg', birthDate: '2019-11', gender: 'male', identifier: undefined },
  { id: 'p3', name: '', birthDate: undefined, gender: undefined, identifier: 'MRN 0099102' },
  { id: 'p4', name: 'مريم العلي', birthDate: '1956', gender: 'unknown', identifier: 'MRN 0012345' },
]

const encounters = [
  {
    id: 'e1',
    title: 'Annual check-up',
    start: '2026-11-20T09:30:00+01:00',
    end: '2026-11-20T10:05:00+01:00',
    status: 'finished',
  },
  { id: 'e2', title: 'Inpatient stay, cardiology', start: '2026-11-22', end: undefined, status: 'in-progress' },
]

export const consent = {
  ...form,
  clientId: '0a1b2c3d-growth-chart',
  clientName,
  clientUri: 'https://growth.example.org/about',
  returnsTo: 'growth.example.org',
  userName: 'Dr. Ida Lund',
  patientName: 'Anna Maria Sørensen-Kowalczyk',
  encounterTitle: 'Annual check-up',
  scopes: [
    'openid',
    'fhirUser',
    'launch/patient',
    'patient/Patient.rs',
    'patient/Observation.rs?category=http://terminology.hl7.org/CodeSystem/observation-category|laboratory&status=final,amended',
    'patient/MedicationRequest.cruds',
    'patient/*.read',
    'user/Practitioner.rs',
    'offline_access',
  ],
}

/** HTML by a name for the page. */
export const samplePages = (pages = createPages()): Readonly<Record<string, string>> => {
  const login = { ...form, clientName, provider: 'login.hospital.example', demo: false, isNameMissing: false }
  const patient = { ...form, clientName, query: '', rows: patients, next: 'n1', previous: undefined }
  return {
    login: pages.login(login),
    'login-demo': pages.login({ ...login, provider: undefined, demo: true }),
    'login-both': pages.login({ ...login, demo: true, isNameMissing: true }),
    'login-none': pages.login({ ...login, provider: undefined }),
    patient: pages.patient(patient),
    'patient-none': pages.patient({ ...patient, query: 'nobody', rows: [], next: undefined }),
    encounter: pages.encounter({
      ...{ ...form, clientName, patientName: 'Anna Maria Sørensen-Kowalczyk', rows: encounters },
      ...{ next: 'n2', previous: 'n0' },
    }),
    'encounter-none': pages.encounter({
      ...{ ...form, clientName, patientName: 'Jonas Berg', rows: [] },
      ...{ next: undefined, previous: undefined },
    }),
    consent: pages.consent(consent),
    'consent-short': pages.consent({
      ...consent,
      ...{ clientUri: undefined, patientName: undefined, encounterTitle: undefined },
      scopes: ['openid'],
    }),
    error: pages.error({ status: 400, reason: 'wrong-return-address', requestId: 'req-7f3a21' }),
    logout: pages.logout({ ...form, userName: 'Dr. Ida Lund' }),
    'logged-out': pages.loggedOut({ wasLoggedIn: true }),
    'not-logged-in': pages.loggedOut({ wasLoggedIn: false }),
  }
}
