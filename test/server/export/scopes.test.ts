/** Who may export what: row K8 of the exports, row B13 of SMART App Launch, and what the audit trail has of it. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import audit from '../../../plugins/audit/index.ts'
import type { TestToken } from '../../support/scoped-callers.ts'
import {
  type ExportClinic,
  exportClinic,
  group,
  type Json,
  named,
  observation,
  patient,
  scopedCallers,
} from './export-clinic.ts'

let clinic: ExportClinic
const pathOf = (url: string): string => url.replace(/^https?:\/\/[^/]+/, '')
const system = (scope: string): TestToken => ({ scope })
const ALL = system('system/*.rs')
const lab = {
  category: [
    { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/observation-category', code: 'laboratory' }] },
  ],
}
const CATEGORY = 'category=http://terminology.hl7.org/CodeSystem/observation-category|laboratory'

test.before(async () => {
  clinic = await exportClinic({ more: [scopedCallers, audit] })
  await clinic.put(
    ...['p1', 'p2'].map((id) => patient(id)),
    observation('lab1', 'p1', lab),
    observation('vital1', 'p1'),
    observation('lab2', 'p2', lab),
    { resourceType: 'Binary', id: 'free', contentType: 'text/plain', data: 'eA==' },
    {
      resourceType: 'Binary',
      id: 'of-p2',
      contentType: 'text/plain',
      data: 'eA==',
      securityContext: { reference: 'Patient/p2' },
    },
    group('g', 'p1'),
  )
})
test.after(() => clinic.stop())

/** Exports, and removes the export. */
const exported = async (url: string, token: TestToken): Promise<string | number> => {
  const { status, headers } = await clinic.ask('GET', url, undefined, {}, token)
  if (status !== 202) return status
  const job = pathOf(headers['content-location'])
  const { json } = await clinic.end(job, token)
  const found = (await clinic.lines(json, 'output', token)).map(named).sort().join(' ')
  await clinic.ask('DELETE', job, undefined, {}, token)
  return found
}

test('K8: a type that is named and not granted is 403, without names only what is granted is exported', async () => {
  const token = system('system/Observation.rs')
  assert.is(await exported('/$export?_type=Patient', token), 403)
  assert.is(await exported('/$export?_type=Observation,Patient', token), 403)
  assert.is(await exported('/$export', token), 'Observation/lab1 Observation/lab2 Observation/vital1')
  const closed = await clinic.ask('GET', '/$export?_type=Patient', undefined, {}, token)
  assert.match(closed.headers['www-authenticate'], /insufficient_scope/)
})

test('B13: an export needs reading and searching, and system/*.rs gives it', async () => {
  for (const scope of ['system/*.r', 'system/*.s', 'system/*.cud', 'openid'])
    assert.is(await exported('/$export', system(scope)), 403, scope)
  assert.is(
    await exported('/$export', ALL),
    'Binary/free Binary/of-p2 Group/g Observation/lab1 Observation/lab2 Observation/vital1 Patient/p1 Patient/p2',
  )
  assert.is(await exported('/Group/g/$export?_type=Patient', ALL), 'Patient/p1')
  // The Group itself has to be one that may be read.
  assert.is(await exported('/Group/g/$export?_type=Patient', system('system/Patient.rs')), 403)
})

test('B13: conditions of scopes and the compartment of a launch hold for each resource', async () => {
  assert.is(
    await exported('/$export', system(`system/Observation.rs?${CATEGORY}`)),
    'Observation/lab1 Observation/lab2',
  )
  const launched: TestToken = { scope: 'patient/*.rs', patient: 'p1', user: 'Practitioner/doc' }
  assert.is(
    await exported('/$export?_type=Patient,Observation', launched),
    'Observation/lab1 Observation/vital1 Patient/p1',
  )
  assert.is(await exported('/Patient/$export', launched), 'Group/g Observation/lab1 Observation/vital1 Patient/p1')
  assert.is(
    await exported('/$export', { ...launched, scope: `patient/Observation.rs?${CATEGORY}` }),
    'Observation/lab1',
  )
  const withFilter = `/$export?_type=Observation&_typeFilter=${encodeURIComponent('Observation?subject=Patient/p2')}`
  assert.is(await exported(withFilter, launched), '')
})

test('B13: a Binary is left out where its security context is hidden', async () => {
  const token = system('system/Patient.rs?_id=p1 system/Binary.rs')
  assert.is(await exported('/$export', token), 'Binary/free Patient/p1')
})

test('B13: what was deleted is listed for those only who could have read it', async () => {
  const since = new Date(Date.now() - 1).toISOString()
  await clinic.put(observation('gone1', 'p1'), observation('gone2', 'p2'))
  for (const id of ['gone1', 'gone2'])
    await clinic.ask('DELETE', `/Observation/${id}`, undefined, {}, system('system/*.cruds'))
  const launched: TestToken = { scope: 'patient/*.rs', patient: 'p1', user: 'Practitioner/doc' }
  const job = await clinic.start(`/$export?_type=Observation&_since=${since}`, {}, launched)
  const { json } = await clinic.end(job, launched)
  const urls = (await clinic.lines(json, 'deleted', launched)).flatMap(({ entry }) =>
    entry.map(({ request }: Json) => request.url),
  )
  assert.equal(urls, ['Observation/gone1'])
  await clinic.ask('DELETE', job, undefined, {}, launched)
})

test('B13: a file needs the right to its type when it is fetched, and as much of it as at the kick-off', async () => {
  const job = await clinic.start('/$export?_type=Observation', {}, ALL)
  await clinic.end(job, ALL)
  const fetch = async (token: TestToken): Promise<number> =>
    (await clinic.ask('GET', `${job}/file`, undefined, {}, token)).status
  assert.is(await fetch(ALL), 200)
  assert.is(await fetch(system('system/Observation.rs')), 200)
  for (const scope of ['system/Patient.rs', 'system/Observation.r', `system/Observation.rs?${CATEGORY}`])
    assert.is(await fetch(system(scope)), 403, scope)
  await clinic.ask('DELETE', job, undefined, {}, ALL)

  const some = system(`system/Observation.rs?${CATEGORY}`)
  const limited = await clinic.start('/$export', {}, some)
  await clinic.end(limited, some)
  const status = async (token: TestToken) => (await clinic.ask('GET', `${limited}/file`, undefined, {}, token)).status
  assert.is(await status(some), 200)
  assert.is(await status(ALL), 200)
  assert.is(await status(system('system/Observation.rs?status=final')), 403)
  await clinic.ask('DELETE', limited, undefined, {}, ALL)
})

test('the trail has kick-off, what was read, each file with its count, and the deletion', async () => {
  const job = await clinic.start('/$export?_type=Observation', {}, ALL)
  await clinic.end(job, ALL)
  assert.is((await clinic.ask('GET', `${job}/file`, undefined, {}, ALL)).status, 200)
  assert.is((await clinic.ask('GET', `${job}/file`, undefined, {}, system('system/Patient.rs'))).status, 403)
  await clinic.ask('DELETE', job, undefined, {}, ALL)
  const { json } = await clinic.ask('GET', '/_audit?_count=500', undefined, {}, system('system/AuditEvent.read'))
  const told = json.entry
    .map(({ resource }: Json) => {
      const codes = resource.subtype.map(({ code }: Json) => code)
      const details = (resource.entity ?? []).flatMap(({ detail = [] }: Json) => detail)
      const count = details.find(({ type }: Json) => type === 'count')?.valueString
      return [codes.at(-1), resource.outcome, count].filter((one) => one !== undefined).join(' ')
    })
    .filter((text: string) => /export|search-type/.test(text))
  for (const one of ['$export 0', 'search-type 0 3', '$export-file 0 3', '$export-file 4', '$export-delete 0'])
    assert.ok(told.includes(one), `${one} among ${told.join(', ')}`)
})

test.run()
