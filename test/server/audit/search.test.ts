/** GET /_audit: what can be asked, how it is paged, and the shape of what is answered. */
// memory: long reads have no thread of their own there
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import validation from '../../../plugins/validation/index.ts'
import { Validator } from '../../../plugins/validation/service.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'
import { type AuditEvent, audited, create, eventsOf, lineOf, send } from './audited.ts'

const get = async (server: TestServer, url: string, headers: Record<string, string> = {}) =>
  server.inject({ url, headers })

/** A clock that tells what it is told. */
const clockAt = (start: string) => {
  let now = Date.parse(start)
  return {
    now: () => now,
    monotonic: () => performance.now(),
    deadline: (ms: number) => AbortSignal.timeout(ms),
    set: (text: string) => {
      now = Date.parse(text)
    },
  }
}

const doctor = JSON.stringify({ kind: 'user', client: 'app-1', user: 'Practitioner/d1', tokenId: 'jti-1' })
const robot = JSON.stringify({ kind: 'client', client: 'robot', tokenId: 'jti-2' })

test('events are found by date, patient, entity, agent, action, outcome, kind and address', async () => {
  const clock = clockAt('2024-02-28T23:59:59.500Z')
  const server = await audited({ clock, settings: { conformance: { update_as_create: true } } })
  await send(server, 'PUT', '/Patient/p1', { resourceType: 'Patient', id: 'p1' })
  clock.set('2024-02-29T12:00:00.000Z')
  await get(server, '/Patient/p1', { 'x-caller': doctor })
  await server.inject({ url: '/Patient/p1/_history/1', headers: { 'x-caller': robot }, remoteAddress: '10.1.1.1' })
  clock.set('2024-03-01T00:00:00.000Z')
  const observation = {
    resourceType: 'Observation',
    status: 'final',
    code: { text: 'x' },
    subject: { reference: 'Patient/p1' },
  }
  const o = await create(server, observation)
  await get(server, `/Observation/${o}`, { 'x-caller': doctor })
  await get(server, '/Patient/p2', { 'x-caller': robot })
  await server.inject({ method: 'DELETE', url: `/Observation/${o}` })
  // What waits for nobody is written behind a change that came later: sorted by what is told, not by place.
  const find = async (query: string) =>
    (await eventsOf(server, query)).map((event) => lineOf(event).replaceAll(o, 'o')).sort()
  const read = 'read Patient/p1/_history/1 of Patient/p1 → 0'
  const vread = 'vread Patient/p1/_history/1 of Patient/p1 → 0'
  const made = 'create Observation/o/_history/1 of Patient/p1 → 0'
  const seen = 'read Observation/o/_history/1 of Patient/p1 → 0'
  const none = 'read Patient/p2 → 4'
  const gone = 'delete Observation/o/_history/2 of Patient/p1 → 0'
  assert.equal(await find('date=2024-02-29'), [read, vread].sort())
  assert.equal(await find('date=2024-02-29T12:00:00Z'), [read, vread].sort())
  assert.equal(await find('date=ge2024-02-29&date=lt2024-03'), [read, vread].sort())
  assert.equal(await find('date=gt2024-02&action=D'), [gone].sort())
  assert.equal(await find('date=2024-02-29T13:00:00%2B01:00'), [read, vread].sort())
  assert.equal(await find('patient=p1&date=2024-03-01'), [made, seen, gone].sort())
  assert.is((await find('patient=Patient/p1')).length, 6)
  assert.equal(await find(`entity=Observation/${o}`), [made, seen, gone].sort())
  assert.equal(await find(`entity=Observation/${o}/_history/1`), [made, seen].sort())
  assert.equal(await find('entity=Patient/p2'), [none].sort())
  assert.equal(await find('agent=Practitioner/d1'), [read, seen].sort())
  assert.equal(await find('agent=robot'), [vread, none].sort())
  assert.equal(await find('agent=robot,Practitioner/d1&outcome=0'), [read, vread, seen].sort())
  assert.equal(await find('outcome=4'), [none].sort())
  assert.equal(await find('action=C,D&patient=p1'), [made, gone].sort())
  assert.equal(await find('subtype=vread'), [vread].sort())
  assert.equal(await find('address=10.1.1.1'), [vread].sort())
  assert.equal(await find('patient=nobody'), [])
  await server.stop()
})

test('what is not known or not well-formed is 400 and says what is', async () => {
  const server = await audited()
  for (const query of [
    'patient=a/b/c',
    'entity=x',
    'action=Z',
    'outcome=1',
    'outcome=constructor',
    'date=yesterday',
    'date=2024-02-30',
    '_count=0',
    '_page=x',
    'subtype=dance',
    'nothing=1',
    '_id=x',
    '_count=1&_count=2',
  ]) {
    const answer = await get(server, `/_audit?${query}`)
    assert.is(answer.statusCode, 400, query)
    assert.is(answer.json().resourceType, 'OperationOutcome')
  }
  assert.match((await get(server, '/_audit?nothing=1')).body, /known are: date, agent, patient/)
  assert.is((await get(server, '/_audit', { accept: 'text/csv' })).statusCode, 406)
  for (const format of ['xml', 'constructor', '__proto__'])
    assert.is((await get(server, `/_audit?_format=${format}`)).statusCode, 406, format)
  assert.is((await server.inject({ method: 'POST', url: '/_audit' })).statusCode, 405)
  await server.stop()
})

test('pages go by their place: what is added meanwhile neither repeats nor hides an event', async () => {
  const server = await audited()
  for (let n = 0; n < 7; n += 1) await create(server, { resourceType: 'Patient' })
  for (const query of ['subtype=create', 'subtype=create&agent=nobody,x', 'action=C']) {
    const ids: string[] = []
    let url: string | undefined = `/_audit?${query}&_count=3`
    while (url !== undefined) {
      const page: { link: { relation: string; url: string }[]; entry?: { resource: AuditEvent }[] } = (
        await get(server, url)
      ).json()
      ids.push(...(page.entry ?? []).map(({ resource }) => resource.id))
      url = page.link.find(({ relation }) => relation === 'next')?.url.replace(/^https?:\/\/[^/]+/, '')
      if (ids.length < 7) await get(server, '/Patient/none')
    }
    assert.equal(ids, [...new Set(ids)])
    assert.equal(
      [...ids].sort((a, b) => Number(b) - Number(a)),
      ids,
    )
    if (!query.includes('agent')) assert.is(ids.length, 7, query)
  }
  await server.stop()
})

test('events of one patient are found in every block, page by page', async () => {
  const server = await audited({ settings: { conformance: { update_as_create: true } } })
  await send(server, 'PUT', '/Patient/p1', { resourceType: 'Patient', id: 'p1' })
  for (let n = 0; n < 5; n += 1) await get(server, '/Patient/p1')
  const first = (await get(server, '/_audit?patient=p1&_count=4')).json()
  assert.is(first.entry.length, 4)
  const next = first.link
    .find(({ relation }: { relation: string }) => relation === 'next')
    .url.replace(/^https?:\/\/[^/]+/, '')
  assert.is((await get(server, next)).json().entry.length, 2)
  await server.stop()
})

test('line by line everything that matches is sent, or as much as _count asks for', async () => {
  const server = await audited()
  for (let n = 0; n < 3; n += 1) await create(server, { resourceType: 'Patient' })
  const answer = await get(server, '/_audit?subtype=create', { accept: 'application/fhir+ndjson' })
  assert.match(answer.headers['content-type'] as string, /^application\/fhir\+ndjson/)
  const lines = answer.body.trimEnd().split('\n')
  assert.is(lines.length, 3)
  for (const line of lines) assert.is(JSON.parse(line).resourceType, 'AuditEvent')
  const two = await get(server, '/_audit?subtype=create&_count=2&_format=application/fhir%2Bndjson')
  assert.is(two.body.trimEnd().split('\n').length, 2)
  await server.stop()
})

test('search parameters are kept only with include_query, and stay what was sent', async () => {
  for (const include_query of [false, true]) {
    const server = await audited({ settings: { audit: { include_query } } })
    await get(server, '/Patient?family=M%C3%BCller')
    await server.inject({
      method: 'POST',
      url: '/Patient/_search',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: 'family=Meier',
    })
    const queries = (await eventsOf(server, 'subtype=search-type')).map(({ entity = [] }) => {
      const { query } = entity.find(({ role }) => role?.code === '24') ?? {}
      return query === undefined ? undefined : Buffer.from(query, 'base64').toString()
    })
    assert.equal(queries, include_query ? ['family=M%C3%BCller', 'family=Meier'] : [undefined, undefined])
    await server.stop()
  }
})

const coded = (event: AuditEvent | undefined) => ({
  type: event?.type.code,
  subtype: event?.subtype.map(({ code }) => code),
  action: event?.action,
  outcome: event?.outcome,
  agents: event?.agent.map(({ type, requestor, who, policy }) => [
    type.coding[0]?.code,
    requestor,
    who?.reference ?? who?.identifier?.value ?? who?.display,
    ...(policy ?? []),
  ]),
  entities: event?.entity?.map(({ type, role }) => `${type?.code}/${role?.code ?? ''}`),
})

test('reads, searches, changes and refusals have the shape of the Basic Audit Log Patterns', async () => {
  const server = await audited({ settings: { conformance: { update_as_create: true } } })
  await send(server, 'PUT', '/Patient/p1', { resourceType: 'Patient', id: 'p1' })
  await get(server, '/Patient/p1', { 'x-caller': doctor, 'x-request-id': 'r-1' })
  await get(server, '/Patient?_id=p1', { 'x-caller': robot })
  await get(server, '/Patient/none')
  const [, update, read, search, refused] = await eventsOf(server)
  assert.equal(coded(update), {
    type: 'rest',
    subtype: ['update'],
    action: 'U',
    outcome: '0',
    agents: [
      ['110152', false, 'refhir'],
      ['110153', true, 'anonymous'],
    ],
    entities: ['2/4', '1/1', 'XrequestId/'],
  })
  assert.equal(coded(read), {
    type: 'rest',
    subtype: ['read'],
    action: 'R',
    outcome: '0',
    agents: [
      ['110153', false, 'refhir'],
      ['110152', false, 'app-1'],
      ['IRCP', true, 'Practitioner/d1', 'jti-1'],
    ],
    entities: ['2/4', '1/1', 'XrequestId/'],
  })
  assert.is(read?.entity?.at(-1)?.what?.identifier?.value, 'r-1')
  assert.match(read?.recorded ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.is(read?.agent[1]?.network?.address, '127.0.0.1')
  assert.equal(coded(search), {
    type: 'rest',
    subtype: ['search-type'],
    action: 'E',
    outcome: '0',
    agents: [
      ['110152', false, 'refhir'],
      ['110153', true, 'robot', 'jti-2'],
    ],
    entities: ['2/24', '1/1', 'XrequestId/'],
  })
  assert.equal(coded(refused), {
    type: 'rest',
    subtype: ['read'],
    action: 'R',
    outcome: '4',
    agents: [
      ['110153', false, 'refhir'],
      ['110152', true, 'anonymous'],
    ],
    entities: ['2/4', '2/', 'XrequestId/'],
  })
  assert.is(refused?.contained?.[0]?.issue[0]?.code, 'not-found')
  await server.stop()
})

test('every kind of event is a valid AuditEvent', async () => {
  const server = await audited({
    settings: { conformance: { update_as_create: true }, audit: { include_query: true } },
  })
  await send(server, 'PUT', '/Patient/p1', { resourceType: 'Patient', id: 'p1' })
  await get(server, '/Patient/p1', { 'x-caller': doctor })
  await get(server, '/Patient?_id=p1')
  await get(server, '/Patient/none')
  await get(server, '/nowhere')
  await get(server, '/_audit/verify')
  const { toAuditEvent } = await import('../../../plugins/audit/fhir/audit-event.ts')
  const { KINDS } = await import('../../../plugins/audit/event.ts')
  const row = { seq: 1, at: 0, type: null, id: null, ver: null, patient: null, client: null, person: null, token: null }
  const rest = { address: null, request: null, operation: 'login', query: null, number: 3, proof: null }
  const seal = { pack: null, mac: Buffer.alloc(32) }
  const each = KINDS.flatMap((_, kind) =>
    [200, 404, 500].map((status) => toAuditEvent({ ...row, ...rest, ...seal, kind, status }, 'aa')),
  )
  const all = [...(await eventsOf(server)), ...each]
  await server.stop()
  const checker = await serverWith({ plugins: [database, stubDefinitions('all'), validation] })
  const validator = checker.get(Validator)
  for (const event of all) {
    const issues = await validator.check(event as never, { text: JSON.stringify(event) })
    assert.equal(
      issues.filter(({ severity }) => severity === 'error' || severity === 'fatal'),
      [],
      JSON.stringify(event),
    )
  }
  await checker.stop()
})

test.run()
