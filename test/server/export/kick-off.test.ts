/** How exports begin: rows K1 to K9 and K24 of the exports, by behaviour. */
// database: sqlite, because a kick-off is read before a job is stored; export/status.test.ts and export/files.test.ts are on each kind
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import audit from '../../../plugins/audit/index.ts'
import { named as namedCallers } from '../../support/named-callers.ts'
import { serverWith } from '../../support/server-with.ts'
import {
  type Answered,
  type ExportClinic,
  exportClinic,
  exportPlugins,
  group,
  holdingUp,
  type Json,
  observation,
  patient,
} from './export-clinic.ts'

let clinic: ExportClinic
const ask: ExportClinic['ask'] = (...asked) => clinic.ask(...asked)
const NDJSON = 'application/fhir+ndjson'
const LENIENT = { prefer: 'respond-async, handling=lenient' }

test.before(async () => {
  clinic = await exportClinic({ more: [namedCallers] })
  await clinic.put(
    ...['p1', 'p2', 'p3'].map((id) => patient(id)),
    ...['p1', 'p2', 'p3'].map((id) => observation(`o-${id}`, id)),
    { resourceType: 'Organization', id: 'org' },
    group('g', 'p1', 'p2'),
  )
})
test.after(() => clinic.stop())

/** Ends what was begun, so that the next one may begin. What it would have written is the subject of files.test.ts. */
const begun = async (answer: Answered, client?: Record<string, string>): Promise<void> => {
  assert.is(answer.status, 202, answer.text)
  const job = String(answer.headers['content-location']).replace(/^https?:\/\/[^/]+/, '')
  assert.is((await ask('DELETE', job, undefined, client)).status, 202)
}
const refused = ({ status, json, text }: Answered, expected: number, code: string): void => {
  assert.is(status, expected, text)
  assert.is(json.resourceType, 'OperationOutcome')
  assert.is(json.issue[0].code, code, text)
}
const parameters = (...parameter: readonly Json[]): Json => ({ resourceType: 'Parameters', parameter })

test('K1: GET at all three levels begins an export at an absolute address; an unknown Group is 404', async () => {
  for (const url of ['/$export', '/Patient/$export', '/Group/g/$export']) {
    const answer = await ask('GET', url, undefined, { prefer: 'respond-async', accept: 'application/fhir+json' })
    assert.match(answer.headers['content-location'], /^http:\/\/.*\/export\/[0-9a-f]{32}$/)
    await begun(answer)
  }
  refused(await ask('GET', '/Group/never/$export'), 404, 'not-found')
})

test('K2: POST with Parameters means the same', async () => {
  const body = parameters(
    { name: '_type', valueString: 'Patient,Observation' },
    { name: '_outputFormat', valueString: NDJSON },
  )
  for (const url of ['/$export', '/Patient/$export', '/Group/g/$export']) await begun(await ask('POST', url, body))
})

test('K3: without Prefer an export begins too; another answer than FHIR JSON is 406', async () => {
  await begun(await ask('GET', '/$export?_type=Patient'))
  assert.is((await ask('GET', '/$export', undefined, { accept: 'application/fhir+xml' })).status, 406)
})

test('K4: three names of NDJSON are taken, others are not', async () => {
  for (const format of [NDJSON, 'application/ndjson', 'ndjson'])
    await begun(await ask('GET', `/$export?_outputFormat=${format}`))
  refused(await ask('GET', '/$export?_outputFormat=csv'), 400, 'not-supported')
})

test('K5: _since is an instant; one in the future finds nothing', async () => {
  await begun(await ask('GET', '/$export?_since=2020-01-01T00:00:00Z'))
  refused(await ask('GET', '/$export?_since=2020'), 400, 'value')
  const job = await clinic.start('/$export?_since=2999-01-01T00:00:00Z')
  const { json } = await clinic.end(job)
  assert.equal([json.output, json.deleted], [[], []])
  await ask('DELETE', job)
})

test('K6: a type that is unknown or outside the compartment is refused, or noted where the client is lenient', async () => {
  for (const url of ['/$export?_type=Patient,Foo', '/Patient/$export?_type=Organization']) {
    refused(await ask('GET', url), 400, 'value')
    const job = await clinic.start(url, LENIENT)
    const { json } = await clinic.end(job)
    const [outcome] = await clinic.lines(json, 'error')
    assert.match(outcome?.issue[0].diagnostics, /Foo|Organization/)
    await ask('DELETE', job)
  }
})

test('K7: filters that cannot be used are 400, parameters that are not supported too; lenient notes them', async () => {
  for (const filter of [
    'Patient?bogus=1',
    'Patient?_sort=_id',
    'Patient?_include=Patient:organization',
    'Patient',
    'Basic?code=x',
    'Observation?subject:Patient.gender=male',
  ])
    assert.is(
      (await ask('GET', `/$export?_type=Patient,Observation&_typeFilter=${encodeURIComponent(filter)}`)).status,
      400,
      filter,
    )
  for (const name of ['includeAssociatedData', 'organizeOutputBy', 'bogus']) {
    refused(await ask('GET', `/$export?${name}=x`), 400, 'not-supported')
    const job = await clinic.start(`/$export?_type=Patient&${name}=x`, LENIENT)
    const { json } = await clinic.end(job)
    assert.is(json.output.length, 1)
    assert.match((await clinic.lines(json, 'error'))[0]?.issue[0].diagnostics, new RegExp(name))
    await ask('DELETE', job)
  }
  await begun(await ask('POST', '/$export', parameters({ name: 'bogus', valueString: 'x' }), LENIENT))
})

test('patients are named in Parameters only, are there, and are members of the Group', async () => {
  const of = (...ids: readonly string[]): Json =>
    parameters(...ids.map((id) => ({ name: 'patient', valueReference: { reference: id } })))
  await begun(await ask('POST', '/Patient/$export', of('Patient/p1', 'Patient/p3')))
  await begun(await ask('POST', '/Group/g/$export', of('Patient/p1')))
  refused(await ask('POST', '/Group/g/$export', of('Patient/p3')), 400, 'not-found')
  refused(await ask('POST', '/Patient/$export', of('Patient/never')), 400, 'not-found')
  refused(await ask('POST', '/Patient/$export', of('Group/g')), 400, 'not-found')
  refused(await ask('POST', '/$export', of('Patient/p1')), 400, 'not-supported')
  assert.is((await ask('GET', '/Patient/$export?patient=Patient/p1')).status, 400)
})

test('_elements names elements that there are', async () => {
  refused(await ask('GET', '/$export?_elements=b%C3%A4d'), 400, 'value')
  assert.is((await ask('GET', '/$export?_elements=Patient.bogus')).status, 400)
})

test('K9: a third export of a client waits for one of the others, those of other clients go on', async () => {
  const { plugin, release } = holdingUp()
  const held = await exportClinic({ more: [namedCallers, plugin] })
  const of = (client: string) => ({ 'x-test-client': client })
  assert.is((await held.ask('GET', '/$export', undefined, of('a'))).status, 202)
  const second = await held.ask('GET', '/$export', undefined, of('a'))
  assert.is(second.status, 202)
  const third = await held.ask('GET', '/$export', undefined, of('a'))
  refused(third, 429, 'throttled')
  assert.ok(Number(third.headers['retry-after']) > 0)
  assert.is((await held.ask('GET', '/$export', undefined, of('b'))).status, 202)
  const job = String(second.headers['content-location']).replace(/^https?:\/\/[^/]+/, '')
  assert.is((await held.ask('DELETE', job, undefined, of('a'))).status, 202)
  assert.is((await held.ask('GET', '/$export', undefined, of('a'))).status, 202)
  release()
  await held.stop()
})

test('K24: without a folder $export is 501 at all levels, and nothing lists it', async () => {
  const server = await serverWith({
    plugins: [...exportPlugins],
    settings: { conformance: { update_as_create: true } },
  })
  for (const url of ['/$export', '/Patient/$export', '/Group/g/$export'])
    for (const method of ['GET', 'POST'] as const) {
      const answer = await server.inject({ method, url })
      assert.is(answer.statusCode, 501)
      assert.is((answer.json() as Json).issue[0].code, 'not-supported')
    }
  assert.not.match((await server.inject('/metadata')).body, /bulkdata/)
  assert.not.match((await server.inject('/$bogus')).body, /\$export/)
  await server.stop()
})

test('what works is in the capability statement, with its three definitions', async () => {
  const { json } = await ask('GET', '/metadata')
  const [rest] = json.rest
  const of = (list: readonly Json[] = []) =>
    list.filter(({ name }) => name === 'export').map(({ definition }) => definition)
  const URL = 'http://hl7.org/fhir/uv/bulkdata/OperationDefinition'
  const typed = (type: string) => of(rest.resource.find((one: Json) => one.type === type).operation)
  assert.equal(
    [of(rest.operation), typed('Patient'), typed('Group')],
    [[`${URL}/export`], [`${URL}/patient-export`], [`${URL}/group-export`]],
  )
  assert.match((await ask('GET', '/$bogus')).text, /\$export/)
})

test('an entry of a Bundle is refused', async () => {
  const entry = [{ request: { method: 'GET', url: '$export' } }]
  const { json } = await ask('POST', '/', { resourceType: 'Bundle', type: 'batch', entry })
  assert.match(json.entry[0].response.status, /^400/)
})

test('AuditEvents, which are read elsewhere, are not exported', async () => {
  const audited = await exportClinic({ more: [audit] })
  refused(await audited.ask('GET', '/$export?_type=AuditEvent'), 400, 'value')
  await audited.put(patient('p1'))
  assert.is(await audited.exported('/$export'), 'Patient/p1')
  await audited.stop()
})

test.run()
