/**
 * Plans of PostgreSQL that were made without looking at the values: no statement of an interaction reads more rows than
 * it needs. A plan of that kind may come into use with the sixth execution of a prepared statement; here it is forced.
 * https://www.postgresql.org/docs/17/sql-prepare.html
 */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../../plugins/database/index.ts'
import { fhirPlugins } from '../../../support/fhir-plugins.ts'
import { type Postgres, startPostgres } from '../../../support/postgres.ts'
import { serverWith, type TestServer } from '../../../support/server-with.ts'
import { stubDefinitions } from '../../../support/stub-definitions.ts'
import { until } from '../../../support/until.ts'

type Json = Record<string, any>

const PATIENTS = 12
const COPIES = 110 // of every row: about 37,000 resources, of which more than MAX_ROWS are Conditions
/** Rows that counts of two clauses may go through, 2,000 each, and those of a page. */
const MAX_ROWS = 5_000

const range = (count: number): readonly number[] => [...Array(count).keys()]
const to = (reference: string): Json => ({ reference })
const loinc = (code: string): Json => ({ coding: [{ system: 'http://loinc.org', code, display: `Test ${code}` }] })

const resourcesOf = (n: number): readonly Json[] => {
  const subject = to(`Patient/p${n}`)
  const date = `20${10 + n}-03-04`
  return [
    {
      resourceType: 'Patient',
      id: `p${n}`,
      name: [{ family: `Family${n}`, given: ['Ann'] }],
      gender: n % 2 === 0 ? 'male' : 'female',
      birthDate: `19${50 + n}-01-02`,
      identifier: [{ system: 'http://example.org/mrn', value: `mrn-${n}` }],
      managingOrganization: to('Organization/o'),
    },
    {
      resourceType: 'Encounter',
      id: `e${n}`,
      status: 'finished',
      class: { code: 'AMB' },
      subject,
      serviceProvider: to('Organization/o'),
      period: { start: date, end: date },
    },
    ...range(20).map((at) => ({
      resourceType: 'Observation',
      id: `b${n}-${at}`,
      status: 'final',
      code: loinc(`c${at}`),
      subject,
      encounter: to(`Encounter/e${n}`),
      performer: [to('Practitioner/d')],
      effectiveDateTime: `20${10 + n}-03-${10 + at}`,
      valueQuantity: { value: at * n, unit: 'mg', system: 'http://unitsofmeasure.org', code: 'mg' },
    })),
    ...range(4).map((at) => ({
      resourceType: 'Condition',
      id: `k${n}-${at}`,
      code: loinc(`k${at}`),
      subject,
      encounter: to(`Encounter/e${n}`),
      onsetDateTime: date,
    })),
    {
      resourceType: 'MedicationRequest',
      id: `m${n}`,
      status: 'active',
      intent: 'order',
      subject,
      medicationCodeableConcept: loinc('m'),
      requester: to('Practitioner/d'),
    },
  ]
}
const resources: readonly Json[] = [
  { resourceType: 'Organization', id: 'o', name: 'Hospital' },
  { resourceType: 'Practitioner', id: 'd', name: [{ family: 'House' }] },
  ...range(PATIENTS).flatMap(resourcesOf),
]

const SEARCHES: readonly string[] = [
  'Observation?subject=Patient/p3',
  'Observation?patient=p3&code=http://loinc.org|c1',
  'Observation?code=c1&_count=5',
  'Observation?code=nothing',
  'Observation?patient=p3&date=ge2015&_sort=-date',
  'Observation?date=ge2011-01-01&date=lt2011-02-01',
  'Observation?date=2011-03-14',
  'Observation?value-quantity=gt100',
  'Observation?value-quantity=gt219|http://unitsofmeasure.org|mg',
  'Observation?code-value-quantity=c1$gt5',
  'Observation?_lastUpdated=gt2020',
  'Observation?_list=nothing',
  'Observation?patient.identifier=nothing',
  'Observation?_sort=_id',
  'Observation?_sort=-_id',
  'Observation?_sort=value-quantity',
  'Observation?_sort=-value-quantity',
  'Observation?_sort=-date&code=c1',
  'Observation?_sort=date,-value-quantity',
  'Patient?_sort=name',
  'Patient?_sort=-birthdate,family',
  'Observation?code:text=test',
  'Observation?subject.name=family3',
  'Observation?_content=test&patient=p3',
  'Observation?_filter=code eq c1 and date ge 2015',
  'Observation?encounter=Encounter/e3&_include=Observation:encounter',
  'Observation?subject=http://example.org/fhir/Patient/1',
  'Patient?name=family3',
  'Patient?family:exact=Family3',
  'Patient?birthdate=1953-01-02',
  'Patient?identifier=http://example.org/mrn|mrn-3',
  'Patient?_id=p3&_revinclude=*',
  'Patient?_has:Condition:patient:code=nothing',
  'Encounter?patient=p3&_include=*',
  'Encounter?patient=p3&_revinclude=Observation:encounter',
  'Condition?patient=p3&onset-date=lt2020',
  'MedicationRequest?patient=p3&_include=MedicationRequest:*',
  'Patient/p3/Observation',
  'Patient/p3/$everything',
  'Encounter/e3/$everything',
  'Patient/p3/_history',
  'Observation/_history',
  '_history',
  'Patient/p3/$meta',
]

const JSON_TYPE = { 'content-type': 'application/fhir+json' }
const observation: Json = {
  resourceType: 'Observation',
  identifier: [{ system: 'http://example.org', value: 'one' }],
  status: 'final',
  code: loinc('c1'),
  subject: to('Patient/p3'),
}

let postgres: Postgres
let server: TestServer

const open = (): Promise<TestServer> =>
  serverWith({
    plugins: [database, stubDefinitions('all'), ...fhirPlugins],
    settings: {
      conformance: { update_as_create: true },
      database: { kind: 'postgres', postgres_url: postgres.url() },
    },
  })
const send = async (method: 'POST' | 'PUT' | 'DELETE' | 'GET', url: string, body?: Json, headers: Json = {}) => {
  const payload = body === undefined ? {} : { payload: JSON.stringify(body) }
  const answer = await server.inject({ method, url, headers: { ...JSON_TYPE, ...headers }, ...payload })
  assert.ok(answer.statusCode < 300, `${method} ${url}: ${answer.body.slice(0, 500)}`)
  return answer
}
const bundle = (type: string, entry: readonly Json[]): Json => ({ resourceType: 'Bundle', type, entry })

/** Copies of every row under other numbers; what copies refer to are copies. */
const multiply = async (): Promise<void> => {
  const columns = await postgres.admin(
    "SELECT table_name AS t, column_name AS c FROM information_schema.columns WHERE table_schema = 'public' AND is_generated = 'NEVER' AND (table_name = 'resource' OR table_name LIKE 'ix\\_%') AND table_name <> 'ix_text'",
  )
  const shifted: Record<string, string> = {
    rid: 'rid + g * 1000000',
    id: "id || '-' || g",
    ref: 'ref + g',
    target: 'target + g',
  }
  for (const [table, list] of Map.groupBy(columns, ({ t }) => t as string)) {
    const names = list.map(({ c }) => c as string)
    const values = names.map((name) => shifted[name] ?? name)
    await postgres.admin(
      `INSERT INTO ${table} (${names.join(', ')}) SELECT ${values.join(', ')} FROM ${table}, generate_series(1, ${COPIES}) g`,
    )
  }
  await postgres.admin('VACUUM ANALYZE')
}

test.before(async () => {
  postgres = await startPostgres({ settings: { autovacuum: 'off' } })
  server = await open()
  await send(
    'POST',
    '/',
    bundle(
      'transaction',
      resources.map((resource) => ({
        resource,
        request: { method: 'PUT', url: `${resource.resourceType}/${resource.id}` },
      })),
    ),
  )
  await server.stop()
  await multiply()
  const sessions: Record<string, string> = {
    session_preload_libraries: 'auto_explain',
    'auto_explain.log_min_duration': '0',
    'auto_explain.log_analyze': 'on',
    'auto_explain.log_timing': 'off',
    'auto_explain.log_format': 'json',
    plan_cache_mode: 'force_generic_plan',
  }
  for (const [name, value] of Object.entries(sessions))
    await postgres.admin(`ALTER DATABASE postgres SET ${name} = '${value}'`)
  server = await open()
})
test.after(async () => {
  await server.stop()
  await postgres.stop()
})

interface Plan {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows'?: number
  readonly 'Actual Loops'?: number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly Plans?: readonly Plan[]
}

/** Rows of tables that were looked at. */
const rowsRead = (plan: Plan): number => {
  const seen =
    (plan['Actual Rows'] ?? 0) + (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Index Recheck'] ?? 0)
  const own = plan['Relation Name'] === undefined ? 0 : seen * (plan['Actual Loops'] ?? 1)
  return (plan.Plans ?? []).reduce((sum, one) => sum + rowsRead(one), own)
}

/** The most rows that each statement read, of those that were planned for any values: their plans name parameters. */
const statementsIn = (log: string): ReadonlyMap<string, number> => {
  const found = new Map<string, number>()
  for (const [, lines = ''] of log.matchAll(/plan:\n((?:\t.*\n)+)/g)) {
    const told = JSON.parse(lines.replaceAll(/^\t/gm, '')) as { 'Query Text': string; Plan: Plan }
    if (!/\$\d/.test(JSON.stringify(told.Plan))) continue
    const text = told['Query Text']
    found.set(text, Math.max(found.get(text) ?? 0, rowsRead(told.Plan)))
  }
  return found
}

const interact = async (): Promise<void> => {
  for (const search of SEARCHES) {
    const { link = [] } = (await send('GET', `/${search}`)).json() as Json
    const next = link.find(({ relation }: Json) => relation === 'next')?.url as string | undefined
    if (next !== undefined) await send('GET', next.replace(/^https?:\/\/[^/]+/, ''))
  }
  const { id } = (await send('POST', '/Observation', observation)).json() as Json
  await send('GET', `/Observation/${id}`)
  await send('PUT', `/Observation/${id}`, { ...observation, id, effectiveDateTime: '2020' })
  await send('GET', `/Observation/${id}/_history/1`)
  const query = 'identifier=http://example.org|one'
  await send('POST', '/Observation', observation, { 'if-none-exist': query })
  await send('PUT', `/Observation?${query}`, observation)
  await send('DELETE', `/Observation?${query}`)
  await send('DELETE', '/Observation/b5-5')
  const made = { resource: observation, request: { method: 'POST', url: 'Observation' } }
  const look = { request: { method: 'GET', url: 'Encounter?patient=p3&_include=*' } }
  await send('POST', '/', bundle('transaction', [made, look]))
  await send('POST', '/', bundle('batch', [made, look]))
}

test('a plan for any values reads few rows, whatever the interaction', async () => {
  const before = postgres.log().length
  await interact()
  await server.stop()
  await postgres.admin("SELECT 'all plans are told' AS told")
  await until(() => postgres.log().includes('all plans are told', before), 10_000, 'the plans')
  const statements = statementsIn(postgres.log().slice(before))
  assert.ok(statements.size > 50, `only ${statements.size} statements were planned for any values`)
  const bad = [...statements].filter(([, rows]) => rows > MAX_ROWS)
  assert.equal(
    bad.map(([text, rows]) => `${Math.round(rows)} rows: ${text.slice(0, 300)}`),
    [],
  )
})

test.run()
