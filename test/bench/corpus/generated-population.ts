/**
 * A population like Synthea's, made: organizations and practitioners in a Bundle of their own, and for each patient one
 * whose entries refer to each other by urn in no order, and to the practitioners by condition.
 */
import { makeCondition, makeEncounter, makeObservation, makePatient } from './clinical.ts'
import { type PopulationBundle, toBundle } from './population.ts'
import type { Dice } from './random.ts'

const NPI = 'http://hl7.org/fhir/sid/us-npi'
const STAFF = 6
const VISITS = 3 // of a patient
const MEASURES = 4 // of a visit

type Json = Record<string, any>

interface Entry {
  readonly fullUrl: string
  readonly resource: Json
  readonly request: Json
}

const bundle = (name: string, entry: readonly Entry[]): PopulationBundle =>
  toBundle(name, JSON.stringify({ resourceType: 'Bundle', type: 'transaction', entry }))

const entryOf = (fullUrl: string, resource: Json, request: Json = {}): Entry => ({
  fullUrl,
  resource,
  request: { method: 'POST', url: resource.resourceType, ...request },
})

const staff = (dice: Dice): PopulationBundle =>
  bundle(
    'practitionerInformation.json',
    Array.from({ length: STAFF }, (_, at): Entry[] => {
      const known = (type: string, more: Json): Entry =>
        entryOf(
          `urn:uuid:${dice.uuid()}`,
          { resourceType: type, identifier: [{ system: NPI, value: `${type}-${at}` }], active: true, ...more },
          { ifNoneExist: `identifier=${NPI}|${type}-${at}` },
        )
      const place = known('Organization', { name: `Clinic ${at}` })
      const person = known('Practitioner', { name: [{ family: `Doctor${at}` }] })
      const role = { practitioner: { reference: person.fullUrl }, organization: { reference: place.fullUrl } }
      // Before what it refers to.
      return [entryOf(`urn:uuid:${dice.uuid()}`, { resourceType: 'PractitionerRole', ...role }), person, place]
    }).flat(),
  )

const patient = (dice: Dice, at: number): PopulationBundle => {
  const own = `urn:uuid:${dice.uuid()}`
  const by = (type: string): Json => ({ reference: `${type}?identifier=${NPI}|${type}-${dice.below(STAFF)}` })
  const person = { ...(JSON.parse(makePatient(dice)) as Json), generalPractitioner: [by('Practitioner')] }
  const entries: Entry[] = [entryOf(own, person)]
  for (let visit = 0; visit < VISITS; visit += 1) {
    const url = `urn:uuid:${dice.uuid()}`
    const encounter = JSON.parse(makeEncounter(dice, own)) as Json
    encounter.participant[0].individual = by('Practitioner')
    entries.push(entryOf(url, { ...encounter, serviceProvider: by('Organization') }))
    entries.push(entryOf(`urn:uuid:${dice.uuid()}`, JSON.parse(makeCondition(dice, own, url)) as Json))
    const results = Array.from({ length: MEASURES }, () => `urn:uuid:${dice.uuid()}`)
    for (const one of results) entries.push(entryOf(one, JSON.parse(makeObservation(dice, own, url)) as Json))
    entries.push(
      entryOf(`urn:uuid:${dice.uuid()}`, {
        resourceType: 'DiagnosticReport',
        status: 'final',
        code: { text: 'panel' },
        subject: { reference: own },
        encounter: { reference: url },
        contained: [{ resourceType: 'Organization', id: 'lab', name: 'Laboratory' }],
        performer: [{ reference: '#lab' }, by('Organization')],
        result: results.map((reference) => ({ reference })),
      }),
    )
  }
  // Whoever comes first in the file is referred to by the others, or refers to them.
  return bundle(`patient-${at}.json`, at % 2 === 0 ? entries : entries.toReversed())
}

export const generatePopulation = (dice: Dice, patients: number): readonly PopulationBundle[] => [
  ...Array.from({ length: patients }, (_, at) => patient(dice, at)),
  staff(dice),
]
