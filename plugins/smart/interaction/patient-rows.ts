/** What the pickers show of patients and encounters. */
import type { EncounterRow, PatientRow } from '../pages/page.ts'

type Json = Readonly<Record<string, unknown>>

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)
const listOf = (value: unknown): readonly Json[] =>
  Array.isArray(value) ? value.filter((one): one is Json => typeof one === 'object' && one !== null) : []
const objectOf = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {})

const PREFERRED = ['official', 'usual']

/** `Anna Maria Example`: the text of a name, or its parts. */
export const nameOf = (patient: Json): string => {
  const names = listOf(patient.name)
  const name = PREFERRED.map((use) => names.find((one) => one.use === use)).find((one) => one !== undefined) ?? names[0]
  if (name === undefined) return ''
  const given = Array.isArray(name.given) ? name.given.filter((one) => typeof one === 'string') : []
  return textOf(name.text) ?? [...given, textOf(name.family)].filter((one) => one !== undefined).join(' ')
}

export const patientRow = (id: string, patient: Json): PatientRow => ({
  id,
  name: nameOf(patient),
  birthDate: textOf(patient.birthDate),
  gender: textOf(patient.gender),
  identifier: listOf(patient.identifier)
    .map(({ value }) => textOf(value))
    .find((one) => one !== undefined),
})

/** The text of a CodeableConcept, or the display or code of its first coding. */
const conceptOf = (concept: Json | undefined): string | undefined => {
  const [coding] = listOf(concept?.coding)
  return textOf(concept?.text) ?? textOf(coding?.display) ?? textOf(coding?.code)
}

export const titleOf = (encounter: Json): string => {
  const kind = objectOf(encounter.class)
  return (
    conceptOf(listOf(encounter.type)[0]) ??
    textOf(kind.display) ??
    textOf(kind.code) ??
    `Encounter/${String(encounter.id)}`
  )
}

export const encounterRow = (id: string, encounter: Json): EncounterRow => {
  const period = objectOf(encounter.period)
  return {
    id,
    title: titleOf(encounter),
    start: textOf(period.start),
    end: textOf(period.end),
    status: textOf(encounter.status) ?? '',
  }
}
