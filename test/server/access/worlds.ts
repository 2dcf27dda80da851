/**
 * Three servers that differ in one thing: resources hidden from the caller are there, were deleted, or never were. Whoever
 * may not see them must get the same answers from all three.
 */
import * as assert from 'uvu/assert'
import { definePlugin, type Restriction } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import references from '../../../plugins/references/index.ts'
import validation from '../../../plugins/validation/index.ts'
import { sessionsInTurn } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

export type Json = Record<string, any>

export interface Asked {
  readonly method: string
  readonly url: string
  readonly body?: Json | readonly Json[]
  readonly headers?: Record<string, string>
}

export interface Answered {
  readonly status: number
  readonly headers: Record<string, unknown>
  readonly text: string
  readonly json: Json
}

export const WORLDS = ['there', 'deleted', 'never'] as const
export type WorldName = (typeof WORLDS)[number]

/** Reads what lies in the compartment of Patient/own; the identifier is what conditions ask for. */
export const observation = (id: string, patient: string, more: Json = {}): Json => ({
  resourceType: 'Observation',
  id,
  status: 'final',
  code: { coding: [{ system: 'http://loinc.org', code: 'A' }] },
  subject: { reference: `Patient/${patient}` },
  ...more,
})
export const patient = (id: string, more: Json = {}): Json => ({ resourceType: 'Patient', id, active: true, ...more })

const HIDDEN_IDENTIFIER = [{ system: 'http://i', value: 'hidden' }]
/** What the caller must not learn of. Of Binary there is no other: which types have resources is not told either. */
const HIDDEN: readonly Json[] = [
  { resourceType: 'Binary', id: 'hidden', contentType: 'text/plain', data: 'aGlkZGVu' },
  patient('hidden', { active: false, identifier: HIDDEN_IDENTIFIER, name: [{ family: 'Hidden' }] }),
  observation('hidden', 'hidden', {
    status: 'preliminary',
    identifier: HIDDEN_IDENTIFIER,
    code: { coding: [{ system: 'http://hidden', code: 'H' }] },
  }),
]
/** Hidden in all three: a second page of a history or a search must not tell of what lies between. */
const OPEN: readonly Json[] = [
  patient('own'),
  patient('other', { active: false }),
  observation('own', 'own'),
  observation('other', 'other', { status: 'preliminary' }),
]

export interface World {
  readonly name: WorldName
  readonly server: TestServer
  ask(asked: Asked): Promise<Answered>
  /** With no restriction. */
  open(asked: Asked): Promise<Answered>
}

export interface Worlds {
  readonly all: readonly World[]
  /** For what is asked from now on. */
  restrict(...restrictions: readonly Restriction[]): void
  stop(): Promise<void>
}

const toAsk =
  (server: TestServer): World['ask'] =>
  async ({ method, url, body, headers = {} }) => {
    const answer = await server.inject({
      method: method as 'GET',
      url,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/fhir+json' }), ...headers },
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

const store = async (ask: World['ask'], resource: Json): Promise<void> => {
  const { resourceType, id } = resource
  const answer = await ask({ method: 'PUT', url: `/${resourceType}/${id}`, body: resource })
  assert.ok(answer.status < 300, answer.text)
}
const remove = async (ask: World['ask'], { resourceType, id }: Json): Promise<void> => {
  const answer = await ask({ method: 'DELETE', url: `/${resourceType}/${id}` })
  assert.is(answer.status, 204, answer.text)
}

/** Two versions of each hidden resource, the newest versions of all but the last own one. */
const fill = async (name: WorldName, ask: World['ask']): Promise<void> => {
  for (const one of OPEN) await store(ask, one)
  if (name !== 'never')
    for (const language of ['de', 'en']) for (const one of HIDDEN) await store(ask, { ...one, language })
  if (name === 'deleted') for (const one of [...HIDDEN].reverse()) await remove(ask, one)
  await store(ask, observation('own', 'own', { language: 'en' }))
}

/** Types whose resources are asked for, some that may refer to them, and their data types. */
const TYPES = [
  ...['Patient', 'Observation', 'Binary', 'Encounter', 'Practitioner', 'Organization', 'Group', 'Provenance', 'Basic'],
  ...['Bundle', 'Parameters', 'OperationOutcome', 'Resource', 'DomainResource', 'Element', 'BackboneElement'],
  ...['Extension', 'Narrative', 'Meta', 'Coding', 'CodeableConcept', 'Reference', 'Identifier', 'HumanName', 'Period'],
  ...['Address', 'ContactPoint', 'Quantity', 'Attachment', 'Annotation'],
  ...['boolean', 'code', 'id', 'string', 'uri', 'instant', 'dateTime', 'date', 'base64Binary'],
]
const OTHERS =
  /^(SearchParameter-(Patient|Observation|Encounter|Practitioner|Organization|Group|Provenance|Basic|Resource|clinical|individual)-|CompartmentDefinition-|(CodeSystem|ValueSet)-observation-status\.)/
const definitions = stubDefinitions(TYPES, OTHERS)

/** Without `update_as_create` they are empty: resources get ids of the server's. */
export const openWorlds = async (updateAsCreate = true): Promise<Worlds> => {
  let restrictions: readonly Restriction[] = []
  const gate = definePlugin({
    name: 'gate',
    setup({ hooks }) {
      hooks.authenticate.tap('known', () => ({ kind: 'user', client: 'app', user: 'Practitioner/me' }))
      hooks.authorize.tap('restrict', (_request, _interaction, ruling) => {
        for (const one of restrictions) ruling.restrict(one)
      })
    },
  })
  const all: World[] = []
  for (const name of WORLDS) {
    const server = await serverWith({
      plugins: [database, definitions, validation, gate, references, ...fhirPlugins],
      settings: {
        server: { public_url: 'http://localhost:80' },
        conformance: { update_as_create: updateAsCreate },
        cluster: { db_pool: sessionsInTurn() },
      },
    })
    const ask = toAsk(server)
    if (updateAsCreate) await fill(name, ask)
    const open: World['open'] = async (asked) => {
      const kept = restrictions
      restrictions = []
      try {
        return await ask(asked)
      } finally {
        restrictions = kept
      }
    }
    all.push({ name, server, ask, open })
  }
  return {
    all,
    restrict(...given) {
      restrictions = given
    },
    async stop() {
      for (const { server } of all) await server.stop()
    },
  }
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
const INSTANT = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g
const PAGE = /_page=([A-Za-z0-9_-]+)/g

/** What must be equal: all but the moment, ids that the server makes, and tokens, of which the length counts. */
export const plain = ({ status, headers, text }: Answered): string => {
  const { date: _date, 'x-request-id': _request, 'last-modified': modified, ...others } = headers
  const told = JSON.stringify({ status, ...others, ...(modified === undefined ? {} : { modified: true }) })
  return `${told}\n${text}`
    .replace(UUID, 'UUID')
    .replace(INSTANT, 'INSTANT')
    .replace(PAGE, (_all, token: string) => `_page=${token.length}`)
}
