/** A server whose callers are taken at their word, with resources that hold a text no other one has. */
import * as assert from 'uvu/assert'
import audit from '../../../plugins/audit/index.ts'
import database from '../../../plugins/database/index.ts'
import { Database, sql } from '../../../plugins/database/service.ts'
import expunge from '../../../plugins/expunge/index.ts'
import references from '../../../plugins/references/index.ts'
import { chosenKind, type FreshDatabase } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import quickJobs from '../../support/quick-jobs.ts'
import { scopedCallers } from '../../support/scoped-callers.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'
import { until } from '../../support/until.ts'

const FHIR = { 'content-type': 'application/fhir+json' }
export const ALL = 'system/*.cruds'
export const CANARY = 'quizzicalkeelbill'
const TYPES = ['Patient', 'Observation', 'Practitioner', 'Organization', 'Encounter', 'Group', 'Binary', 'AuditEvent']
const DATA = [
  'HumanName',
  'CodeableConcept',
  'Coding',
  'Identifier',
  'Reference',
  'Period',
  'Meta',
  'Narrative',
  'Extension',
]
const definitions = stubDefinitions([...TYPES, ...DATA, 'Bundle', 'Basic'], /^(SearchParameter|CompartmentDefinition)-/)

export const plugins = [database, definitions, ...fhirPlugins, references, quickJobs, expunge, scopedCallers, audit]

export interface ExpungeServer extends TestServer {
  send(
    method: string,
    url: string,
    body?: object,
    scope?: string,
  ): Promise<{ statusCode: number; body: string; json(): any; headers: any }>
  /** Creates a resource; returns its id. */
  create(resource: object): Promise<string>
  /** Creates them in one transaction; returns their ids. */
  createAll(resources: readonly object[]): Promise<readonly string[]>
  /** Waits for the end of a job; returns the last answer. */
  ended(location: string): Promise<{ statusCode: number; body: string; json(): any }>
}

/** `fresh`: its database, which may be opened again. */
export const expungeServer = async (fresh: FreshDatabase, settings: object = {}): Promise<ExpungeServer> => {
  const server = await serverWith({ plugins, settings: { ...fresh.settings, audit: { enabled: true }, ...settings } })
  const send: ExpungeServer['send'] = (method, url, body, scope = ALL) => {
    const headers = { ...(body === undefined ? {} : FHIR), ...(scope === '' ? {} : { 'x-test-scope': scope }) }
    return server.inject({
      method: method as 'GET',
      url,
      headers,
      ...(body && { payload: JSON.stringify(body) }),
    }) as never
  }
  return Object.assign(Object.create(server), {
    send,
    async create(resource: { resourceType: string }) {
      const answer = await send('POST', `/${resource.resourceType}`, resource)
      assert.is(answer.statusCode, 201, answer.body)
      return answer.json().id
    },
    async createAll(resources: readonly { resourceType: string }[]) {
      const entry = resources.map((resource) => ({ resource, request: { method: 'POST', url: resource.resourceType } }))
      const answer = await send('POST', '/', { resourceType: 'Bundle', type: 'transaction', entry })
      assert.is(answer.statusCode, 200, answer.body)
      return answer.json().entry.map(({ response }: any) => /([^/]+)\/_history\/1$/.exec(response.location)?.[1])
    },
    async ended(location: string) {
      const { pathname } = new URL(location)
      let answer: any
      await until(
        async () => {
          answer = await send('GET', pathname)
          return answer.statusCode !== 202 && answer.statusCode !== 429
        },
        30_000,
        'the job',
      )
      return answer
    },
  })
}

export const withExpunge = async (
  work: (server: ExpungeServer, fresh: FreshDatabase) => Promise<void>,
  settings: object = {},
): Promise<void> => {
  const fresh = await chosenKind.fresh(plugins)
  const server = await expungeServer(fresh, settings)
  try {
    await work(server, fresh)
  } finally {
    await server.stop()
    await fresh.remove()
  }
}

const TABLES = sql('test.tables', {
  sqlite: "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'",
  postgres: "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'",
})

/** Tables of which a row holds the canary, in any case; bodies are looked into by `bodiesWith`. */
export const tablesWith = async (server: TestServer, text = CANARY): Promise<readonly string[]> => {
  const db = server.get(Database)
  const found: string[] = []
  for (const { name } of await db.longQuery<{ name: string }>(TABLES, [])) {
    const rows = await db.longQuery(sql(`test.rows-${name}`, `SELECT * FROM "${name}"`), [])
    const all = rows.map((row: any) =>
      Object.values(row)
        .map((one) => (one instanceof Uint8Array ? Buffer.from(one).toString('latin1') : String(one)))
        .join(' '),
    )
    if (all.join('\n').toLowerCase().includes(text.toLowerCase())) found.push(name)
  }
  return found
}
export const bodiesOf = async (server: TestServer, type: string, id: string): Promise<number> => {
  const count = sql(
    'test.bodies',
    'SELECT (SELECT count(*) FROM history h WHERE h.rid = r.rid) + CASE WHEN r.body IS NULL THEN 0 ELSE 1 END AS n FROM resource r JOIN resource_type t ON t.code = r.type WHERE t.name = ? AND r.id = ?',
  )
  const [row] = await server.get(Database).longQuery<{ n: number }>(count, [type, id])
  return Number(row?.n)
}

/** A patient whose name, code and narrative hold the canary. */
export const patient = (more: object = {}) => ({
  resourceType: 'Patient',
  text: { status: 'generated', div: `<div xmlns="http://www.w3.org/1999/xhtml">${CANARY}</div>` },
  name: [{ family: CANARY }],
  maritalStatus: { text: CANARY },
  communication: [{ language: { text: CANARY } }],
  ...more,
})
export const observation = (subject: string, more: object = {}) => ({
  ...{ resourceType: 'Observation', status: 'final', code: { text: CANARY }, subject: { reference: subject } },
  ...more,
})
