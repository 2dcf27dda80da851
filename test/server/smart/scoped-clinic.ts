/** A server whose callers have scopes, with the records of two patients, and short ways to ask it. */
import type { AnyPlugin } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { scopedCallers, type TestToken, tokenHeaders } from '../../support/scoped-callers.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

export type Json = Record<string, any>

const DEFINITIONS = [
  ...[
    'Patient',
    'Observation',
    'Condition',
    'Encounter',
    'Practitioner',
    'Organization',
    'Location',
    'Binary',
    'Bundle',
  ],
  ...['Parameters', 'RelatedPerson', 'AuditEvent', 'Provenance', 'List'],
  ...['Element', 'Extension', 'Reference', 'Identifier', 'HumanName', 'Narrative', 'Meta', 'Coding', 'CodeableConcept'],
]
const PARAMETERS =
  /^(SearchParameter-(Patient|Observation|Condition|Encounter|Practitioner|Resource|clinical|individual)-|CompartmentDefinition-patient)/

export const LAB = 'http://terminology.hl7.org/CodeSystem/observation-category|laboratory'

export const observation = (id: string, patient: string, category: string, more: Json = {}): Json => ({
  resourceType: 'Observation',
  ...(id === '' ? {} : { id }),
  status: 'final',
  category: [{ coding: [{ system: 'http://terminology.hl7.org/CodeSystem/observation-category', code: category }] }],
  code: { text: 'x' },
  subject: { reference: `Patient/${patient}` },
  ...more,
})

/** Who may do everything. */
export const ALL_SCOPES: TestToken = { scope: 'system/*.cruds' }

const RECORDS: readonly Json[] = [
  { resourceType: 'Practitioner', id: 'doc', active: true },
  { resourceType: 'Patient', id: 'p1', gender: 'female' },
  { resourceType: 'Patient', id: 'p2', gender: 'male', generalPractitioner: [{ reference: 'Practitioner/doc' }] },
  { resourceType: 'RelatedPerson', id: 'mother', active: true, patient: { reference: 'Patient/p1' } },
  { resourceType: 'RelatedPerson', id: 'former', active: false, patient: { reference: 'Patient/p1' } },
  observation('lab1', 'p1', 'laboratory', { performer: [{ reference: 'Practitioner/doc' }] }),
  observation('vital1', 'p1', 'vital-signs'),
  observation('lab2', 'p2', 'laboratory'),
  observation('vital2', 'p2', 'vital-signs'),
  { resourceType: 'Condition', id: 'c1', subject: { reference: 'Patient/p1' } },
  { resourceType: 'Condition', id: 'c2', subject: { reference: 'Patient/p2' } },
  {
    resourceType: 'Encounter',
    id: 'e1',
    status: 'finished',
    class: { code: 'AMB' },
    subject: { reference: 'Patient/p1' },
  },
]

export interface Answered {
  readonly status: number
  readonly headers: Record<string, any>
  readonly text: string
  readonly json: Json
}

export interface ScopedClinic {
  readonly server: TestServer
  ask(token: TestToken, method: string, url: string, body?: Json, headers?: Record<string, string>): Promise<Answered>
  status(token: TestToken, method: string, url: string, body?: Json): Promise<number>
  /** Ids in the answer to a search, sorted, separated by spaces; the status where it is not 200. */
  found(token: TestToken, url: string): Promise<string | number>
  /** Puts the records back as they were. */
  reset(): Promise<void>
}

export const scopedClinic = async (more: readonly AnyPlugin[] = [], settings: Json = {}): Promise<ScopedClinic> => {
  const server = await serverWith({
    plugins: [database, stubDefinitions(DEFINITIONS, PARAMETERS), scopedCallers, ...more, ...fhirPlugins],
    settings: { conformance: { update_as_create: true }, ...settings },
  })
  const ask: ScopedClinic['ask'] = async (token, method, url, body, headers = {}) => {
    const answer = await server.inject({
      method: method as 'GET',
      url,
      headers: { 'content-type': 'application/fhir+json', ...tokenHeaders(token), ...headers },
      ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
    })
    return {
      status: answer.statusCode,
      headers: answer.headers,
      text: answer.body,
      get json() {
        return answer.json() as Json
      },
    }
  }
  const clinic: ScopedClinic = {
    server,
    ask,
    status: async (...asked) => (await ask(...asked)).status,
    async found(token, url) {
      const { status, json } = await ask(token, 'GET', url)
      if (status !== 200) return status
      return (json.entry ?? [])
        .map(({ resource }: Json) => resource.id)
        .sort()
        .join(' ')
    },
    async reset() {
      const { json } = await ask(ALL_SCOPES, 'GET', '/Observation?_count=1000')
      const made = (json.entry ?? []).filter(({ resource }: Json) => !RECORDS.some(({ id }) => id === resource.id))
      const entry: readonly Json[] = [
        ...made.map(({ resource }: Json) => ({ request: { method: 'DELETE', url: `Observation/${resource.id}` } })),
        ...RECORDS.map((resource) => ({
          resource,
          request: { method: 'PUT', url: `${resource.resourceType}/${resource.id}` },
        })),
      ]
      const { status, text } = await ask(ALL_SCOPES, 'POST', '/', {
        resourceType: 'Bundle',
        type: 'transaction',
        entry,
      })
      if (status !== 200) throw new Error(text)
    },
  }
  await clinic.reset()
  return clinic
}
