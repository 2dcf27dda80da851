/** The steps `patient` and `encounter`: the person chooses what the client works with. */
import type { Parameters } from '../endpoints/form.ts'
import { readIfOpen } from '../people/patient-access.ts'
import { MalformedPageRequest, NotYours } from '../web/page-errors.ts'
import { enter } from './enter.ts'
import { readsOf } from './next-step.ts'
import { encounterRow, nameOf, patientRow } from './patient-rows.ts'
import { patientQuery, searchPage } from './search-page.ts'
import { clientNameOf, formOf, type InteractionParts, type PersonStepRequest, type StepPage } from './step-page.ts'

const ID = /^[A-Za-z0-9.-]{1,64}$/
/** The newest first. */
const ENCOUNTERS = '_sort=-date'

const idOf = ({ form, isRepeated }: Parameters, name: string): string => {
  const id = form.get(name)
  if (isRepeated || id === undefined || !ID.test(id)) throw MalformedPageRequest(`${name} is not an id`)
  return id
}

export const createPatientStep = (parts: InteractionParts): StepPage<PersonStepRequest> => ({
  async show({ ctx, pending, session, parameters: { form } }) {
    const { pages, clients } = parts
    const { open } = await readsOf(parts, ctx, pending, session.person)
    const query = form.get('q') ?? ''
    const { matches, next, previous } = await searchPage(open(), 'Patient', patientQuery(query), form.get('page') ?? '')
    return {
      html: pages.patient({
        ...formOf(ctx, pending),
        clientName: await clientNameOf(clients, pending.client),
        query,
        rows: matches.map((one) => patientRow(one.id, one.parse())),
        ...{ next, previous },
      }),
      csp: pages.csp(pending.params.redirectUri),
    }
  },
  async take({ ctx, pending, session, parameters }) {
    const patient = idOf(parameters, 'patient')
    const { open } = await readsOf(parts, ctx, pending, session.person)
    if ((await readIfOpen(open(patient), 'Patient', patient)) === undefined) throw NotYours()
    return enter(parts, ctx, pending, session, { ...pending.chosen, patient })
  },
})

export const createEncounterStep = (parts: InteractionParts): StepPage<PersonStepRequest> => {
  const readsOfPatient = async ({ ctx, pending, session }: PersonStepRequest) => {
    const { patient } = pending.chosen
    if (patient === undefined) throw NotYours()
    const reads = (await readsOf(parts, ctx, pending, session.person)).open(patient)
    return { patient, reads }
  }
  return {
    async show(request) {
      const { ctx, pending, parameters } = request
      const { pages, clients } = parts
      const { patient, reads } = await readsOfPatient(request)
      const shown = await readIfOpen(reads, 'Patient', patient)
      if (shown === undefined) throw NotYours()
      const page = parameters.form.get('page') ?? ''
      const { matches, next, previous } = await searchPage(reads, 'Encounter', ENCOUNTERS, page)
      return {
        html: pages.encounter({
          ...formOf(ctx, pending),
          clientName: await clientNameOf(clients, pending.client),
          patientName: nameOf(shown) || `Patient/${patient}`,
          rows: matches.map((one) => encounterRow(one.id, one.parse())),
          ...{ next, previous },
        }),
        csp: pages.csp(pending.params.redirectUri),
      }
    },
    async take(request) {
      const { ctx, pending, session, parameters } = request
      const encounter = idOf(parameters, 'encounter')
      const { reads } = await readsOfPatient(request)
      if ((await readIfOpen(reads, 'Encounter', encounter)) === undefined) throw NotYours()
      return enter(parts, ctx, pending, session, { ...pending.chosen, encounter })
    },
  }
}
