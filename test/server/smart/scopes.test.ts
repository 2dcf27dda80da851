/** What scopes open over HTTP: rows B3 to B13 of SMART App Launch, by behaviour. */
// npm test: postgres, which is asked statements here that no other file asks
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import audit from '../../../plugins/audit/index.ts'
import metering from '../../../plugins/metering/index.ts'
import requestLog from '../../../plugins/request-log/index.ts'
import type { TestToken } from '../../support/scoped-callers.ts'
import { ALL_SCOPES, type Json, LAB, observation, type ScopedClinic, scopedClinic } from './scoped-clinic.ts'

let clinic: ScopedClinic
const ask: ScopedClinic['ask'] = (...asked) => clinic.ask(...asked)
const status: ScopedClinic['status'] = (...asked) => clinic.status(...asked)
const found: ScopedClinic['found'] = (...asked) => clinic.found(...asked)

test.before(async () => {
  clinic = await scopedClinic([audit, metering, requestLog], { request_log: { store: true } })
})
test.before.each(() => clinic.reset())
test.after(() => clinic.server.stop())

const system = (scope: string): TestToken => ({ scope })
/** Of a launch for a patient, by a practitioner. */
const launched = (scope: string, patient = 'p1'): TestToken => ({ scope, patient, user: 'Practitioner/doc' })
const as = (user: string, scope: string): TestToken => ({ scope, user })
const CHALLENGE = 'Bearer error="insufficient_scope"'
const lab = (id = ''): Json => observation(id, 'p1', 'laboratory')
const bundle = (type: 'batch' | 'transaction', ...entry: readonly Json[]): Json => ({
  resourceType: 'Bundle',
  type,
  entry,
})

test('read, write and * of version 1 open what rs, cud and cruds open', async () => {
  for (const [old, now] of [
    ['read', 'rs'],
    ['write', 'cud'],
    ['*', 'cruds'],
  ] as const) {
    const seen = []
    for (const word of [old, now]) {
      const token = system(`system/Observation.${word}`)
      seen.push([
        await status(token, 'GET', '/Observation/lab1'),
        await status(token, 'GET', '/Observation?status=final'),
        await status(token, 'POST', '/Observation', lab()),
        await status(token, 'PUT', '/Observation/lab1', lab('lab1')),
        await status(token, 'DELETE', '/Observation/vital1'),
        await status(token, 'GET', '/Condition/c1'),
      ])
      await clinic.reset()
    }
    assert.equal(seen[0], seen[1], old)
    assert.ok(seen[0]?.includes(403) && seen[0].some((one) => one < 300), old)
  }
})

test('what is no scope opens nothing', async () => {
  for (const scope of ['system/Observation.sr', 'system/observation.rs', 'System/*.rs', 'system/Foo.rs', 'openid', 'x'])
    assert.is(await status(system(scope), 'GET', '/Observation/lab1'), 403, scope)
  // Beside one that is, it adds nothing.
  assert.is(await status(system('system/Patient.rs system/Observation.sr'), 'GET', '/Observation/lab1'), 403)
})

test('conditions of a scope all hold, a comma is any of the values, and several scopes of a type add up', async () => {
  const three = observation('both', 'p1', 'laboratory', {
    category: ['laboratory', 'vital-signs'].map((code) => ({ coding: [{ code }] })),
  })
  await status(ALL_SCOPES, 'PUT', '/Observation/both', three)
  const of = (...scopes: readonly string[]): Promise<string | number> => found(system(scopes.join(' ')), '/Observation')
  const scope = 'system/Observation.rs?'
  assert.is(await of(`${scope}category=laboratory&category=vital-signs`), 'both')
  assert.is(await of(`${scope}category=laboratory,vital-signs&patient=Patient/p1`), 'both lab1 vital1')
  assert.is(await of(`${scope}category=laboratory`, `${scope}patient=Patient/p2`), 'both lab1 lab2 vital2')
})

test('a scope of laboratory results of a patient shows these, hides what lies outside, and closes other types', async () => {
  const token = launched(`patient/Observation.rs?category=${LAB}`)
  assert.is(await status(token, 'GET', '/Observation/lab1'), 200)
  const hidden = [await ask(token, 'GET', '/Observation/vital1'), await ask(token, 'GET', '/Observation/lab2')]
  const never = await ask(token, 'GET', '/Observation/never')
  for (const one of hidden) {
    assert.is(one.status, 404)
    assert.is(one.text.replace(/vital1|lab2/, 'never'), never.text)
    assert.is(one.headers.etag, undefined)
  }
  const closed = await ask(token, 'GET', '/Condition/c1')
  assert.is(closed.status, 403)
  assert.is(closed.json.issue[0].code, 'forbidden')
  assert.is(closed.headers['www-authenticate'], CHALLENGE)
})

test('searches, counts, totals and pages hold the same resources', async () => {
  for (const id of ['x1', 'x2', 'x3']) await status(ALL_SCOPES, 'PUT', `/Observation/${id}`, lab(id))
  const token = launched(`patient/Observation.rs?category=${LAB}`)
  assert.is(await found(token, '/Observation'), 'lab1 x1 x2 x3')
  assert.is((await ask(token, 'GET', '/Observation?_summary=count')).json.total, 4)
  const seen: string[] = []
  for (let url: string | undefined = '/Observation?_total=accurate&_count=3'; url !== undefined; ) {
    const { json }: { json: Json } = await ask(token, 'GET', url)
    assert.is(json.total, 4)
    seen.push(...json.entry.map(({ resource }: Json) => resource.id))
    url = json.link.find(({ relation }: Json) => relation === 'next')?.url.replace(/^https?:\/\/[^/]+/, '')
  }
  assert.is(seen.sort().join(' '), 'lab1 x1 x2 x3')
})

test('what is included of a type that is not granted is left out; chains, _has and sorting through it are 403', async () => {
  const token = launched('patient/Observation.rs')
  assert.is(await found(token, '/Observation?_include=Observation:subject'), 'lab1 vital1')
  assert.is(await found(launched('patient/Patient.rs'), '/Patient?_revinclude=Observation:subject'), 'p1')
  for (const url of ['/Observation?subject:Patient.gender=female', '/Observation?_has:Condition:subject:code=x'])
    assert.ok([400, 403].includes(await status(token, 'GET', url)), url)
  const chain = await ask(token, 'GET', '/Observation?subject:Patient.gender=female')
  assert.is(chain.status, 403)
  assert.is(chain.headers['www-authenticate'], CHALLENGE)
  assert.is(await status(launched('patient/Patient.rs'), 'GET', '/Patient?_has:Observation:subject:status=final'), 403)
})

test('an old version outside the scope is 404, and not in the history', async () => {
  await status(ALL_SCOPES, 'PUT', '/Observation/moved', observation('moved', 'p2', 'laboratory'))
  await status(ALL_SCOPES, 'PUT', '/Observation/moved', observation('moved', 'p1', 'laboratory'))
  const token = launched('patient/Observation.rs')
  assert.is(await status(token, 'GET', '/Observation/moved/_history/1'), 404)
  assert.is(await status(token, 'GET', '/Observation/moved/_history/2'), 200)
  const { json } = await ask(token, 'GET', '/Observation/moved/_history')
  assert.equal(
    json.entry.map(({ resource }: Json) => resource.meta.versionId),
    ['2'],
  )
  assert.not.match(JSON.stringify((await ask(token, 'GET', '/Observation/_history')).json), 'Patient/p2')
})

test('a change whose old or new content lies outside the scope is refused, and so is a condition without s', async () => {
  const token = launched(`patient/Observation.cruds?category=${LAB} patient/Patient.rs`)
  const outside = await ask(token, 'POST', '/Observation', observation('', 'p1', 'vital-signs'))
  assert.is(outside.status, 403)
  assert.is(outside.headers['www-authenticate'], CHALLENGE)
  assert.is(await status(token, 'POST', '/Observation', observation('', 'p2', 'laboratory')), 403)
  assert.is(await status(token, 'PUT', '/Observation/lab1', observation('lab1', 'p1', 'vital-signs')), 403)
  assert.is(await status(token, 'PUT', '/Observation/lab1', observation('lab1', 'p2', 'laboratory')), 403)
  assert.is(await status(token, 'PUT', '/Observation/vital1', lab('vital1')), 404)
  assert.is(await status(token, 'PUT', '/Observation/lab2', lab('lab2')), 404)
  assert.is(await status(token, 'DELETE', '/Observation/lab2'), 404)
  const patch = [{ op: 'replace', path: '/subject/reference', value: 'Patient/p2' }]
  const patched = async (id: string): Promise<number> => {
    const headers = { 'content-type': 'application/json-patch+json' }
    return (await ask(token, 'PATCH', `/Observation/${id}`, patch as unknown as Json, headers)).status
  }
  assert.equal([await patched('lab1'), await patched('lab2'), await patched('never')], [403, 404, 404])
  const { headers } = await ask(ALL_SCOPES, 'GET', '/Observation/lab1')
  const made = await ask(token, 'POST', '/Observation', lab())
  assert.is(made.status, 201)
  assert.is((await ask(ALL_SCOPES, 'GET', '/Observation/lab1')).headers.etag, headers.etag)
  // A condition searches.
  const writer = launched('patient/Observation.cud patient/Patient.rs')
  assert.is(await status(writer, 'PUT', '/Observation?status=final', lab()), 403)
  assert.is(await status(writer, 'DELETE', '/Observation?status=final'), 403)
  assert.is((await ask(writer, 'POST', '/Observation', lab(), { 'if-none-exist': 'status=final' })).status, 403)
})

test('an entry of a batch is refused for itself, one of a transaction with all others', async () => {
  const token = launched('patient/Observation.cruds patient/Patient.rs')
  const entry = [
    { resource: observation('', 'p1', 'survey'), request: { method: 'POST', url: 'Observation' } },
    {
      resource: { resourceType: 'Condition', subject: { reference: 'Patient/p1' } },
      request: { method: 'POST', url: 'Condition' },
    },
  ]
  const whole = await ask(token, 'POST', '/', bundle('transaction', ...entry))
  assert.is(whole.status, 403)
  assert.is(whole.headers['www-authenticate'], CHALLENGE)
  assert.is(await found(ALL_SCOPES, '/Observation?category=survey'), '')
  const { json } = await ask(token, 'POST', '/', bundle('batch', ...entry))
  assert.equal(
    json.entry.map(({ response }: Json) => response.status.slice(0, 3)),
    ['201', '403'],
  )
  const made = await found(ALL_SCOPES, '/Observation?category=survey')
  assert.is.not(made, '')
})

test('$everything shows what the scopes open of the record', async () => {
  assert.is(
    await found(launched('patient/Patient.rs patient/Observation.rs'), '/Patient/p1/$everything'),
    'lab1 p1 vital1',
  )
  assert.is(
    await found(launched(`patient/Patient.rs patient/Observation.rs?category=${LAB}`), '/Patient/p1/$everything'),
    'lab1 p1',
  )
  assert.is(await found(launched('patient/*.rs'), '/Patient/p2/$everything'), 404)
  assert.is(await found(launched('patient/Observation.rs'), '/Patient/p1/$everything'), 403)
  assert.is(await status(system('openid'), 'GET', '/$meta'), 403)
})

const ADMIN = ['/_audit', '/AuditEvent', '/_audit/verify', '/_usage', '/_requests']

test('what shows the doings of all callers asks for system/AuditEvent.read, with either grammar', async () => {
  for (const url of ADMIN) {
    for (const scope of ['system/AuditEvent.read', 'system/AuditEvent.rs', 'system/*.read', 'system/*.cruds'])
      assert.is(await status(system(scope), 'GET', url), 200, `${url} ${scope}`)
    const refused: readonly TestToken[] = [
      system('system/Observation.cruds system/Patient.cruds'),
      system('system/AuditEvent.cud'),
      system('system/AuditEvent.rs?date=gt2000-01-01'),
      system('user/AuditEvent.cruds patient/AuditEvent.cruds'),
      as('Practitioner/doc', 'user/AuditEvent.cruds user/*.cruds system/AuditEvent.read'),
      launched('patient/AuditEvent.cruds patient/*.cruds'),
      {},
    ]
    for (const token of refused) {
      const answer = await ask(token, 'GET', url)
      assert.is(answer.status, 403, `${url} ${JSON.stringify(token)}`)
      assert.is(answer.headers['www-authenticate'], CHALLENGE)
      assert.is(answer.json.issue[0].code, 'forbidden')
    }
  }
})

test('who is a patient, or belongs to one, stays in that record under user scopes', async () => {
  const scope = 'user/*.cruds'
  for (const token of [as('Patient/p1', scope), { ...as('RelatedPerson/mother', scope), related: 'p1' }]) {
    assert.is(await found(token, '/Observation'), 'lab1 vital1')
    assert.is(await found(token, '/Patient'), 'p1')
    assert.is(await status(token, 'GET', '/Patient/p2'), 404)
    assert.is(await status(token, 'PUT', '/Observation/lab2', observation('lab2', 'p1', 'laboratory')), 404)
  }
})

test('a practitioner sees what user scopes name', async () => {
  for (const user of ['Practitioner/doc', 'PractitionerRole/surgeon']) {
    assert.is(await found(as(user, 'user/Observation.rs'), '/Observation'), 'lab1 lab2 vital1 vital2')
    assert.is(await status(as(user, 'user/Observation.rs'), 'GET', '/Condition/c1'), 403)
  }
})

test('user scopes of somebody of whom no record is known open nothing', async () => {
  const scope = 'user/*.cruds'
  const unknown: readonly TestToken[] = [
    as('RelatedPerson/mother', scope),
    as('Person/somebody', scope),
    as('Device/d', scope),
    as('Patient/', scope),
    as('Practitioner', scope),
    { scope, patient: 'p1' },
    { scope },
  ]
  for (const token of unknown) assert.is(await status(token, 'GET', '/Observation/lab1'), 403, JSON.stringify(token))
})

test('patient scopes open the record of the launch, and nothing without one', async () => {
  assert.is(await found(launched('patient/*.rs', 'p2'), '/Observation'), 'lab2 vital2')
  assert.is(await found({ scope: 'patient/*.rs', patient: 'p2' }, '/Observation'), 'lab2 vital2')
  assert.is(await status(as('Practitioner/doc', 'patient/*.rs'), 'GET', '/Observation/lab1'), 403)
  assert.is(await status({ scope: 'patient/*.rs' }, 'GET', '/Observation/lab1'), 403)
  assert.is(await status({ scope: 'patient/*.rs', user: 'Patient/p1', patient: 'p2' }, 'GET', '/Observation/lab2'), 403)
})

test('system scopes are those of a client without a user', async () => {
  assert.is(await status(as('Practitioner/doc', 'system/*.cruds'), 'GET', '/Observation/lab1'), 403)
  assert.is(await status(launched('system/*.cruds'), 'GET', '/Observation/lab1'), 403)
})

test('patient and user scopes of one token add up', async () => {
  const token = launched('patient/Observation.rs user/Condition.rs')
  assert.is(await found(token, '/Observation'), 'lab1 vital1')
  assert.is(await found(token, '/Condition'), 'c1 c2')
})

test('a scope that names the practitioners lets a patient read them, and changes none; * stays in the record', async () => {
  const named = launched('patient/Observation.rs patient/Practitioner.cruds')
  assert.is(await status(named, 'GET', '/Practitioner/doc'), 200)
  assert.is(await found(named, '/Observation?_id=lab1&_include=Observation:performer'), 'doc lab1')
  assert.is(await status(named, 'DELETE', '/Practitioner/doc'), 403)
  assert.is(await status(launched('patient/*.cruds'), 'GET', '/Practitioner/doc'), 404)
  assert.is(await status(as('Patient/p1', 'user/*.cruds'), 'GET', '/Practitioner/doc'), 404)
})

test('who has no token is told what the server can do, and nothing else', async () => {
  assert.is(await status({}, 'GET', '/metadata'), 200)
  for (const url of ['/Observation/lab1', '/Observation', '/_history', '/Patient/$meta', '/$meta'])
    assert.is(await status({}, 'GET', url), 403, url)
  assert.is(await status({}, 'POST', '/Observation', lab()), 403)
  assert.is(await status({}, 'POST', '/', bundle('batch')), 403)
})

test.run()
