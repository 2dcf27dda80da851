/** Servers with the archiver on that differ in one thing: what was archived is there, was deleted, or never was. */
import * as assert from 'uvu/assert'
import type { AnyPlugin } from '../../../kernel/index.ts'
import audit from '../../../plugins/audit/index.ts'
import database from '../../../plugins/database/index.ts'
import references from '../../../plugins/references/index.ts'
import requestLog from '../../../plugins/request-log/index.ts'
import sdcArchiver from '../../../plugins/sdc-archiver/index.ts'
import terminology from '../../../plugins/terminology/index.ts'
import validation from '../../../plugins/validation/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { formDefinitions } from '../../support/form-definitions.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import type { Answered, Asked, Json } from '../access/worlds.ts'

/** A word that stands in what is archived, and nowhere else. */
export const SECRET = 'zwetschgenknoedel'

const IDENTIFIER = { system: 'http://i', value: SECRET }

/** With something of each kind by which a resource can be found. */
export const response = (id: string | undefined, more: Json = {}): Json => ({
  resourceType: 'QuestionnaireResponse',
  ...(id === undefined ? {} : { id }),
  meta: { tag: [{ system: 'http://t', code: SECRET }] },
  text: { status: 'generated', div: `<div xmlns="http://www.w3.org/1999/xhtml">${SECRET}</div>` },
  contained: [{ resourceType: 'Patient', id: 'inner', active: true, name: [{ family: SECRET }] }],
  identifier: IDENTIFIER,
  questionnaire: `http://q/${SECRET}`,
  status: 'completed',
  subject: { reference: 'Patient/p' },
  encounter: { reference: 'Encounter/e' },
  authored: '2024-02-03T04:05:06Z',
  author: { reference: '#inner' },
  item: [{ linkId: '1', text: SECRET, answer: [{ valueString: SECRET }] }],
  ...more,
})

/** What the responses are about, and what could lead to them. */
const OPEN: readonly Json[] = [
  { resourceType: 'Patient', id: 'p', active: true, name: [{ family: 'Open' }] },
  {
    resourceType: 'Encounter',
    id: 'e',
    status: 'finished',
    class: { code: 'AMB' },
    subject: { reference: 'Patient/p' },
  },
]

export interface Archive {
  readonly name: 'there' | 'deleted' | 'never'
  readonly server: TestServer
  ask(asked: Asked): Promise<Answered>
}

export const toAsk =
  (server: Pick<TestServer, 'inject'>): Archive['ask'] =>
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

export const archivePluginsWith = (installed: AnyPlugin): readonly AnyPlugin[] => [
  ...[database, installed, validation],
  ...fhirPlugins,
  ...[sdcArchiver, references, terminology, requestLog, audit],
]
export const archivePlugins = archivePluginsWith(formDefinitions)

export const archiveSettings = (more: Json = {}): Json => ({
  server: { public_url: 'http://localhost:80' },
  features: { sdc_archiver: true },
  conformance: { update_as_create: true, reference_policy: 'fhir' },
  request_log: { store: true },
  ...more,
})

const fill = async (name: Archive['name'], ask: Archive['ask']): Promise<void> => {
  const put = async (one: Json): Promise<void> => {
    const answer = await ask({ method: 'PUT', url: `/${one.resourceType}/${one.id}`, body: one })
    assert.ok(answer.status < 300, answer.text)
    if (one.resourceType === 'QuestionnaireResponse') assert.is(answer.text, '')
  }
  for (const one of OPEN) await put(one)
  if (name !== 'never')
    for (const status of ['in-progress', 'completed'])
      for (const id of ['hidden', 'second']) await put(response(id, { status }))
  if (name === 'deleted')
    for (const id of ['hidden', 'second'])
      assert.is((await ask({ method: 'DELETE', url: `/QuestionnaireResponse/${id}` })).status, 204)
  await put({ ...OPEN[0], language: 'en' })
}

export const openArchives = async (
  more: readonly AnyPlugin[] = [],
  settings: Json = {},
  plugins = archivePlugins,
): Promise<readonly Archive[]> => {
  const all: Archive[] = []
  for (const name of ['there', 'deleted', 'never'] as const) {
    const server = await serverWith({ plugins: [...plugins, ...more], settings: archiveSettings(settings) })
    const ask = toAsk(server)
    await fill(name, ask)
    all.push({ name, server, ask })
  }
  return all
}
