/**
 * Clinical records in the sizes and shapes that record systems send: Patient, Encounter, Condition, Observation, valid
 * R4, in the proportions of an outpatient record. Made, so that there is as much as a figure needs.
 */
import type { Dice } from './random.ts'

const LOINC = 'http://loinc.org'
const SNOMED = 'http://snomed.info/sct'
const UCUM = 'http://unitsofmeasure.org'
const CORE = 'http://hl7.org/fhir/us/core/StructureDefinition'

const FAMILIES = [
  'Keebler',
  'Okafor',
  'Lindqvist',
  'Moreau',
  'Tanaka',
  'Schumm',
  'Abernathy',
  'Delgado',
  'Novak',
  'Ryan',
]
const GIVEN = ['Adaline', 'Tobias', 'Chiara', 'Magnus', 'Yuki', 'Esperanza', 'Ibrahim', 'Maeve', 'Lucien', 'Priya']
const CITIES = ['Springfield', 'Framingham', 'Worcester', 'Lowell', 'Quincy', 'Brockton', 'Plymouth']
const STREETS = ['Kutch Underpass', 'Hessel Mews', 'Bauch Estate', 'Rath Ramp', 'Wolf Promenade', 'Hyatt Trail']

/** LOINC code, its display, UCUM unit, least and most, digits. */
export const MEASURES: readonly (readonly [string, string, string, number, number, number])[] = [
  ['8302-2', 'Body Height', 'cm', 140, 200, 1],
  ['29463-7', 'Body Weight', 'kg', 45, 120, 1],
  ['39156-5', 'Body Mass Index', 'kg/m2', 17, 42, 2],
  ['8867-4', 'Heart rate', '/min', 50, 110, 0],
  ['9279-1', 'Respiratory rate', '/min', 10, 22, 0],
  ['4548-4', 'Hemoglobin A1c/Hemoglobin.total in Blood', '%', 4, 11, 2],
  ['2339-0', 'Glucose [Mass/volume] in Blood', 'mg/dL', 60, 220, 2],
  ['2093-3', 'Cholesterol [Mass/volume] in Serum or Plasma', 'mg/dL', 120, 290, 2],
  ['38483-4', 'Creatinine [Mass/volume] in Blood', 'mg/dL', 0.5, 2.4, 2],
  ['6690-2', 'Leukocytes [#/volume] in Blood by Automated count', '10*3/uL', 3, 12, 2],
]

const CONDITIONS: readonly (readonly [string, string])[] = [
  ['59621000', 'Essential hypertension (disorder)'],
  ['44054006', 'Diabetes mellitus type 2 (disorder)'],
  ['195662009', 'Acute viral pharyngitis (disorder)'],
  ['271737000', 'Anemia (disorder)'],
  ['162864005', 'Body mass index 30+ - obesity (finding)'],
  ['55822004', 'Hyperlipidemia (disorder)'],
]

const VISITS: readonly (readonly [string, string])[] = [
  ['162673000', 'General examination of patient (procedure)'],
  ['185345009', 'Encounter for symptom (procedure)'],
  ['410620009', 'Well child visit (procedure)'],
  ['390906007', 'Follow-up encounter (procedure)'],
]

const coding = (system: string, code: string, display: string): object => ({
  coding: [{ system, code, display }],
  text: display,
})

const ombCategory = (url: string, code: string, display: string): object => ({
  url: `${CORE}/${url}`,
  extension: [
    { url: 'ombCategory', valueCoding: { system: 'urn:oid:2.16.840.1.113883.6.238', code, display } },
    { url: 'text', valueString: display },
  ],
})

export const makePatient = (dice: Dice): string => {
  const family = dice.pick(FAMILIES)
  const given = dice.pick(GIVEN)
  const gender = dice.pick(['female', 'male'])
  const id = dice.uuid()
  return JSON.stringify({
    resourceType: 'Patient',
    extension: [
      ombCategory('us-core-race', '2106-3', 'White'),
      ombCategory('us-core-ethnicity', '2186-5', 'Not Hispanic or Latino'),
      { url: `${CORE}/us-core-birthsex`, valueCode: gender === 'female' ? 'F' : 'M' },
    ],
    identifier: [
      { system: 'https://records.example.org/people', value: id },
      {
        type: coding('http://terminology.hl7.org/CodeSystem/v2-0203', 'MR', 'Medical Record Number'),
        system: 'http://hospital.example.org',
        value: id,
      },
      {
        type: coding('http://terminology.hl7.org/CodeSystem/v2-0203', 'SS', 'Social Security Number'),
        system: 'http://hl7.org/fhir/sid/us-ssn',
        value: `999-${10 + dice.below(90)}-${1000 + dice.below(9000)}`,
      },
    ],
    name: [
      {
        use: 'official',
        family: `${family}${dice.below(1000)}`,
        given: [`${given}${dice.below(1000)}`],
        prefix: ['Ms.'],
      },
    ],
    telecom: [{ system: 'phone', value: `555-${100 + dice.below(900)}-${1000 + dice.below(9000)}`, use: 'home' }],
    gender,
    birthDate: dice.day(1930, 2020),
    address: [
      {
        line: [`${1 + dice.below(999)} ${dice.pick(STREETS)}`],
        city: dice.pick(CITIES),
        state: 'MA',
        postalCode: `0${1000 + dice.below(9000)}`,
        country: 'US',
      },
    ],
    maritalStatus: coding('http://terminology.hl7.org/CodeSystem/v3-MaritalStatus', 'M', 'Married'),
    multipleBirthBoolean: false,
    communication: [{ language: coding('urn:ietf:bcp:47', 'en-US', 'English') }],
  })
}

export const makeEncounter = (dice: Dice, patient: string): string => {
  const [code, display] = dice.pick(VISITS)
  const start = dice.instant(2015, 2024)
  return JSON.stringify({
    resourceType: 'Encounter',
    identifier: [{ use: 'official', system: 'https://records.example.org/visits', value: dice.uuid() }],
    status: 'finished',
    class: { system: 'http://terminology.hl7.org/CodeSystem/v3-ActCode', code: 'AMB', display: 'ambulatory' },
    type: [coding(SNOMED, code, display)],
    subject: { reference: patient, display: `${dice.pick(GIVEN)} ${dice.pick(FAMILIES)}` },
    participant: [
      {
        type: [coding('http://terminology.hl7.org/CodeSystem/v3-ParticipationType', 'PPRF', 'primary performer')],
        period: { start, end: start },
      },
    ],
    period: { start, end: start },
    reasonCode: [coding(SNOMED, ...dice.pick(CONDITIONS))],
  })
}

export const makeCondition = (dice: Dice, patient: string, encounter: string): string => {
  const onset = dice.instant(2010, 2024)
  return JSON.stringify({
    resourceType: 'Condition',
    clinicalStatus: {
      coding: [{ system: 'http://terminology.hl7.org/CodeSystem/condition-clinical', code: 'active' }],
    },
    verificationStatus: {
      coding: [{ system: 'http://terminology.hl7.org/CodeSystem/condition-ver-status', code: 'confirmed' }],
    },
    category: [
      coding('http://terminology.hl7.org/CodeSystem/condition-category', 'encounter-diagnosis', 'Encounter Diagnosis'),
    ],
    code: coding(SNOMED, ...dice.pick(CONDITIONS)),
    subject: { reference: patient },
    encounter: { reference: encounter },
    onsetDateTime: onset,
    recordedDate: onset,
  })
}

/** Numbers as records have them: 72.40 keeps its zero, so the text is put together by hand where the value stands. */
export const makeObservation = (dice: Dice, patient: string, encounter: string): string => {
  const [code, display, unit, least, most, digits] = dice.pick(MEASURES)
  const at = dice.instant(2015, 2024)
  const text = JSON.stringify({
    resourceType: 'Observation',
    status: 'final',
    category: [coding('http://terminology.hl7.org/CodeSystem/observation-category', 'vital-signs', 'Vital signs')],
    code: coding(LOINC, code, display),
    subject: { reference: patient },
    encounter: { reference: encounter },
    effectiveDateTime: at,
    issued: `${at.slice(0, 19)}.000+00:00`,
    valueQuantity: { value: 0, unit, system: UCUM, code: unit },
  })
  return text.replace('"value":0,', `"value":${dice.decimal(least, most, digits)},`)
}
