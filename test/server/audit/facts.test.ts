/** One fact per operation, whichever way it takes: no more, no less. */
// database: sqlite and postgres, because in memory the same statements run as on a file
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { TestServer } from '../../support/server-with.ts'
import { audited, create, eventsOf, happened, patientOf, send } from './audited.ts'

const observation = (patient: string, text = 'a') => ({
  resourceType: 'Observation',
  status: 'final',
  code: { text },
  subject: { reference: patient },
})
/** Text that is hardly shorter when it is packed. */
const words = (count: number, seed: number): string =>
  Array.from({ length: count }, (_, at) => (Math.imul(at + seed * 7919, 2654435761) >>> 0).toString(36)).join(' ')
const bundle = (type: string, entry: readonly object[]) => ({ resourceType: 'Bundle', type, entry })

/** For tests that look at what happens during them. It has Patient/p1. */
let shared: TestServer
test.before(async () => {
  shared = await audited({ settings: { conformance: { update_as_create: true } } })
  await send(shared, 'PUT', '/Patient/p1', { resourceType: 'Patient', id: 'p1' })
})
test.after(() => shared.stop())

/** What happens in `work`, as lines. */
const during = async (server: TestServer, work: () => Promise<unknown>): Promise<readonly string[]> => {
  const before = (await happened(server)).length
  await work()
  return (await happened(server)).slice(before)
}

test('each single request leaves one event: reads, changes, and those that found nothing', async () => {
  const server = await audited({ settings: { conformance: { update_as_create: true } } })
  const get = (url: string, headers: Record<string, string> = {}) => server.inject({ url, headers })
  await send(server, 'PUT', '/Patient/p1', { resourceType: 'Patient', id: 'p1' })
  const o = await create(server, observation('Patient/p1'))
  await get(`/Observation/${o}`)
  await get(`/Observation/${o}`, { 'if-none-match': 'W/"1"' })
  await server.inject({ method: 'HEAD', url: `/Observation/${o}` })
  await get(`/Observation/${o}/_history/1`)
  await send(server, 'PUT', `/Observation/${o}`, { ...observation('Patient/p1', 'b'), id: o })
  await get(`/Observation/${o}/_history`)
  await get('/Observation/_history')
  await get('/_history')
  await get(`/Observation?code:text=b`)
  await get('/Observation?code:text=nothing')
  await get('/?_type=Patient,Observation')
  await get('/Patient/p1/Observation')
  await server.inject({
    method: 'POST',
    url: '/Observation/_search',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: 'code:text=b',
  })
  await server.inject({ method: 'DELETE', url: `/Observation/${o}` })
  await server.inject({ method: 'DELETE', url: `/Observation/${o}` })
  await get(`/Observation/${o}`)
  await get('/Observation/none')
  await get('/metadata')
  await get('/readyz')
  assert.equal(
    (await happened(server)).map((line) => line.replaceAll(o, 'o')),
    [
      'update Patient/p1/_history/1 of Patient/p1 → 0',
      'create Observation/o/_history/1 of Patient/p1 → 0',
      'read Observation/o/_history/1 of Patient/p1 → 0',
      'read Observation/o/_history/1 of Patient/p1 → 0',
      'read Observation/o/_history/1 of Patient/p1 → 0',
      'vread Observation/o/_history/1 of Patient/p1 → 0',
      'update Observation/o/_history/2 of Patient/p1 → 0',
      'history-instance Observation/o of Patient/p1 → 0',
      'history-type of Patient/p1 → 0',
      'history-system of Patient/p1 → 0',
      'search-type of Patient/p1 → 0',
      'search-type → 0',
      'search-system of Patient/p1 → 0',
      'search-type of Patient/p1 → 0',
      'search-type of Patient/p1 → 0',
      'delete Observation/o/_history/3 of Patient/p1 → 0',
      'delete Observation/o/_history/3 → 0',
      'read Observation/o → 4',
      'read Observation/none → 4',
    ],
  )
  await server.stop()
})

test('a search leaves one event for each patient it showed, all of one request', async () => {
  const server = await audited({ settings: { conformance: { update_as_create: true } } })
  for (const id of ['p1', 'p2', 'p3']) {
    await send(server, 'PUT', `/Patient/${id}`, { resourceType: 'Patient', id })
    await create(server, observation(`Patient/${id}`))
    await create(server, observation(`Patient/${id}`))
  }
  await create(server, { resourceType: 'Observation', status: 'final', code: { text: 'of nobody' } })
  await server.inject('/Observation?status=final')
  const found = await eventsOf(server, 'subtype=search-type')
  assert.equal(found.map(patientOf).sort(), ['Patient/p1', 'Patient/p2', 'Patient/p3'])
  const requests = found.map(({ entity }) => entity?.find(({ type }) => type?.code === 'XrequestId')?.what?.identifier)
  assert.is(new Set(requests.map((one) => one?.value)).size, 1)
  assert.equal(
    found.map(({ outcome, action }) => `${action}${outcome}`),
    ['E0', 'E0', 'E0'],
  )
  await server.stop()
})

for (const [size, more] of [
  ['small', 1],
  ['large', 6_000],
] as const)
  test(`a ${size} resource that names its patient by an absolute URL of this server is of that patient`, async () => {
    const server = await audited({
      settings: {
        server: { public_url: 'https://fhir.example/r4' },
        fhir: { large_body_bytes: 32_768 },
        conformance: { update_as_create: true },
      },
    })
    const patient = 'https://fhir.example/r4/Patient/p1'
    await send(server, 'PUT', '/Patient/p1', { resourceType: 'Patient', id: 'p1' })
    for (const [reference, named] of [
      [patient, 'Patient/p1'],
      [`${patient}/_history/1`, 'Patient/p1'],
      ['https://fhir.example/Patient/p1', ''],
      ['http://localhost:80/Patient/p1', ''],
    ] as const) {
      const before = (await eventsOf(server)).length
      const o = await create(server, observation(reference, words(more, 1)))
      await send(server, 'PUT', `/Observation/${o}`, { ...observation(reference, words(more, 2)), id: o })
      for (const url of [
        `/Observation/${o}`,
        `/Observation/${o}/_history/1`,
        `/Observation/${o}/_history`,
        `/Observation?_id=${o}`,
        '/Observation?status=final',
        '/Observation?status=final',
        '/Observation?status=final',
      ])
        assert.is((await server.inject({ url })).statusCode, 200, url)
      const entry = [{ request: { method: 'DELETE', url: `Observation/${o}` } }]
      await send(server, 'POST', '/', bundle('transaction', entry))
      const events = (await eventsOf(server))
        .slice(before)
        .filter(({ subtype }) => subtype.at(-1)?.code !== 'transaction')
      assert.is(events.length, 10)
      for (const event of events) assert.is(patientOf(event), named, `${reference}: ${JSON.stringify(event.subtype)}`)
    }
    await server.stop()
  })

test('a conditional interaction leaves the event of what it did, or did not do', async () => {
  const server = shared
  const org = (name: string) => ({ resourceType: 'Organization', name })
  const id = await create(server, { ...org('a'), identifier: [{ system: 'urn:x', value: '1' }] })
  const lines = await during(server, async () => {
    const headers = { 'content-type': 'application/fhir+json', 'if-none-exist': `_id=${id}` }
    const answer = await server.inject({
      method: 'POST',
      url: '/Organization',
      headers,
      payload: JSON.stringify(org('b')),
    })
    assert.is(answer.statusCode, 200)
    await send(server, 'PUT', `/Organization?_id=${id}`, org('c'))
    await server.inject({ method: 'DELETE', url: `/Organization?_id=${id}` })
    await server.inject({ method: 'DELETE', url: '/Organization?_id=nobody' })
  })
  assert.equal(
    lines.map((line) => line.replaceAll(id, 'x')),
    [
      'create Organization/x/_history/1 → 0',
      'update Organization/x/_history/2 → 0',
      'delete Organization/x/_history/3 → 0',
      'delete → 0',
    ],
  )
})

test('a conditional interaction that matches names what it showed or changed, and whose data that is', async () => {
  const server = shared
  const o = await create(server, observation('Patient/p1'))
  const other = observation('Patient/p2')
  const json = { 'content-type': 'application/fhir+json' }
  const condition = `_id=${o}`
  const patching = (text: string) => ({
    resource: {
      resourceType: 'Binary',
      contentType: 'application/json-patch+json',
      data: btoa(JSON.stringify([{ op: 'replace', path: '/code/text', value: text }])),
    },
    request: { method: 'PATCH', url: `Observation?${condition}` },
  })
  const creating = { resource: other, request: { method: 'POST', url: 'Observation', ifNoneExist: condition } }
  const lines = await during(server, async () => {
    for (const shown of ['representation', 'minimal', 'OperationOutcome'])
      assert.is(
        (
          await server.inject({
            method: 'POST',
            url: '/Observation',
            headers: { ...json, 'if-none-exist': condition, prefer: `return=${shown}` },
            payload: JSON.stringify(other),
          })
        ).statusCode,
        200,
      )
    for (const kind of ['batch', 'transaction'])
      for (const entry of [creating, patching(kind)])
        assert.is((await send(server, 'POST', '/', bundle(kind, [entry]))).statusCode, 200)
    for (const headers of [json, { ...json, 'if-match': 'W/"1"' }])
      await server.inject({
        method: 'PUT',
        url: `/Observation?${condition}`,
        headers,
        payload: JSON.stringify(observation('Patient/p1', 'updated')),
      })
    await server.inject({ method: 'DELETE', url: `/Observation?${condition}` })
  })
  assert.equal(
    lines.map((line) => line.replaceAll(o, 'o')),
    [
      'create Observation/o/_history/1 of Patient/p1 → 0',
      'create Observation/o/_history/1 of Patient/p1 → 0',
      'create Observation/o/_history/1 of Patient/p1 → 0',
      'create Observation/o/_history/1 of Patient/p1 → 0',
      'batch → 0',
      'patch Observation/o/_history/2 of Patient/p1 → 0',
      'batch → 0',
      'create Observation/o/_history/2 of Patient/p1 → 0',
      'transaction → 0',
      'patch Observation/o/_history/3 of Patient/p1 → 0',
      'transaction → 0',
      'update Observation/o/_history/4 of Patient/p1 → 0',
      'update Observation/o of Patient/p1 → 4',
      'delete Observation/o/_history/5 of Patient/p1 → 0',
    ],
  )
})

test('each entry of a batch and of a transaction leaves its own event, and the Bundle one more', async () => {
  const server = shared
  const entries = [
    { resource: { resourceType: 'Patient', id: 'p2' }, request: { method: 'PUT', url: 'Patient/p2' } },
    { request: { method: 'GET', url: 'Patient/p1' } },
    { request: { method: 'GET', url: 'Patient?_id=p1' } },
    { request: { method: 'DELETE', url: 'Patient/p3' } },
  ]
  const performed = [
    'delete Patient/p3 of Patient/p3 → 0',
    'read Patient/p1/_history/1 of Patient/p1 → 0',
    'search-type of Patient/p1 → 0',
  ]
  const batch = await during(server, () =>
    send(server, 'POST', '/', bundle('batch', [...entries, { request: { method: 'GET', url: 'Patient/none' } }])),
  )
  assert.equal(
    [...batch].sort(),
    ['batch → 0', ...performed, 'read Patient/none → 4', 'update Patient/p2/_history/1 of Patient/p2 → 0'].sort(),
  )
  const changed = entries.map((entry) =>
    entry.resource === undefined ? entry : { ...entry, resource: { ...entry.resource, active: true } },
  )
  const transaction = await during(server, () => send(server, 'POST', '/', bundle('transaction', changed)))
  assert.equal(
    [...transaction].sort(),
    ['transaction → 0', ...performed, 'update Patient/p2/_history/2 of Patient/p2 → 0'].sort(),
  )
})

test('a transaction that is undone leaves its refusal, and no event of what was undone', async () => {
  const server = shared
  const entries = [
    { resource: { resourceType: 'Patient', active: true }, request: { method: 'POST', url: 'Patient' } },
    { request: { method: 'GET', url: 'Patient/none' } },
  ]
  const lines = await during(server, async () => {
    assert.is((await send(server, 'POST', '/', bundle('transaction', entries))).statusCode, 404)
  })
  assert.equal(lines, ['read Patient/none → 4', 'transaction → 4'])
})

test('what is refused before it is known what it asks for leaves an event too', async () => {
  const server = await audited({ settings: { fhir: { max_body_bytes: 1024 } } })
  const headers = { 'content-type': 'application/fhir+json' }
  const statuses: number[] = []
  const lines = await during(server, async () => {
    for (const request of [
      { url: '/nowhere/at/all' },
      { url: '/Nothing/1' },
      { method: 'DELETE', url: '/metadata' },
      { method: 'POST', url: '/Patient', headers, payload: `{"resourceType":"Patient","id":"${'x'.repeat(2000)}"}` },
      { method: 'POST', url: '/Patient', headers: { 'content-type': 'text/csv' }, payload: 'a,b' },
      { method: 'POST', url: '/Patient', headers, payload: '{"resourceType":' },
      { url: '/Patient', headers: { accept: 'text/csv' } },
      { url: '/Patient/1', headers: { 'x-too-many': '1' } },
      { url: '/Patient/1', headers: { authorization: 'Bearer bad' } },
      { url: '/Patient/1', headers: { 'x-forbid': 'read' } },
      { url: '/_audit', headers: { 'x-forbid': 'admin' } },
    ] as const)
      statuses.push((await server.inject(request as never)).statusCode)
  })
  assert.equal(statuses, [404, 404, 405, 413, 415, 400, 406, 429, 401, 403, 403])
  assert.equal(lines, [
    'request → 4',
    'request Nothing/1 → 4',
    'request → 4',
    'request → 4',
    'request → 4',
    'create → 4',
    'search-type → 4',
    'request Patient/1 → 4',
    'request Patient/1 → 4',
    'read Patient/1 → 4',
  ])
  const admin = (await server.inject('/_audit?subtype=admin&outcome=4')).json() as { entry: unknown[] }
  assert.is(admin.entry.length, 1)
  await server.stop()
})

test('a patch and an operation leave the event of what they did', async () => {
  const server = shared
  const o = await create(server, observation('Patient/p1'))
  const meta = {
    resourceType: 'Parameters',
    parameter: [{ name: 'meta', valueMeta: { tag: [{ system: 'urn:t', code: 'a' }] } }],
  }
  const lines = await during(server, async () => {
    const patched = await server.inject({
      method: 'PATCH',
      url: `/Observation/${o}`,
      headers: { 'content-type': 'application/json-patch+json' },
      payload: JSON.stringify([{ op: 'replace', path: '/code/text', value: 'b' }]),
    })
    assert.is(patched.statusCode, 200, patched.body)
    await server.inject(`/Observation/${o}/$meta`)
    assert.is((await send(server, 'POST', `/Observation/${o}/$meta-add`, meta)).statusCode, 200)
    await send(server, 'POST', `/Observation/${o}/$meta-add`, meta)
    await server.inject('/Patient/p1/$everything')
    await server.inject(`/Observation/${o}/$nothing`)
  })
  assert.equal(
    lines.map((line) => line.replaceAll(o, 'o')),
    [
      'patch Observation/o/_history/2 of Patient/p1 → 0',
      '$meta Observation/o of Patient/p1 → 0',
      '$meta-add Observation/o/_history/3 of Patient/p1 → 0',
      '$meta-add Observation/o/_history/3 of Patient/p1 → 0',
      '$everything Patient/p1 of Patient/p1 → 0',
      'request Observation/o → 4',
    ],
  )
})

test('with reads = false only changes, refusals and administrative reads are recorded', async () => {
  const server = await audited({ settings: { audit: { reads: false } } })
  const id = await create(server, { resourceType: 'Patient' })
  await server.inject(`/Patient/${id}`)
  await server.inject('/Patient')
  await server.inject('/Patient/_history')
  await server.inject('/Patient/none')
  await server.inject('/_audit')
  const lines = (await happened(server)).map((line) => line.replaceAll(id, 'x'))
  assert.equal(lines, ['create Patient/x/_history/1 of Patient/x → 0', 'read Patient/none → 4'])
  assert.is((await server.inject('/_audit?subtype=admin')).json().entry.length, 2)
  await server.stop()
})

test('nobody but the server makes, changes or deletes an AuditEvent: 405, and recorded', async () => {
  const server = await audited()
  const resource = {
    resourceType: 'AuditEvent',
    type: { code: 'rest' },
    recorded: '2024-01-01T00:00:00Z',
    agent: [{ requestor: true }],
    source: { observer: { display: 'me' } },
  }
  const caller = JSON.stringify({ kind: 'client', client: 'c1', scopes: ['system/*.cruds'] })
  const headers = { 'content-type': 'application/fhir+json', 'x-caller': caller }
  const before = (await happened(server)).length
  for (const [method, url, body] of [
    ['POST', '/AuditEvent', resource],
    ['PUT', '/AuditEvent/1', { ...resource, id: '1' }],
    ['PATCH', '/AuditEvent/1', [{ op: 'remove', path: '/agent' }]],
    ['DELETE', '/AuditEvent/1', undefined],
  ] as const) {
    const type = method === 'PATCH' ? 'application/json-patch+json' : 'application/fhir+json'
    const answer = await server.inject({
      method,
      url,
      headers: { ...headers, 'content-type': type },
      ...(body !== undefined && { payload: JSON.stringify(body) }),
    })
    assert.is(answer.statusCode, 405, `${method} ${answer.body}`)
  }
  const entry = [{ resource, request: { method: 'POST', url: 'AuditEvent' } }]
  assert.is((await send(server, 'POST', '/', bundle('transaction', entry))).statusCode, 405)
  const batch = (await send(server, 'POST', '/', bundle('batch', entry))).json() as {
    entry: { response: { status: string } }[]
  }
  assert.match(batch.entry[0]?.response.status ?? '', /^405/)
  const refused = (await eventsOf(server)).slice(before)
  assert.is(refused.filter(({ outcome }) => outcome === '4').length, 4 + 2 + 1)
  assert.is((await server.inject('/AuditEvent')).json().total ?? 0, 0)
  await server.stop()
})

test('the administrative endpoints cannot be reached through a Bundle', async () => {
  const server = shared
  const entry = [{ request: { method: 'GET', url: '_audit' } }]
  const answer = (await send(server, 'POST', '/', bundle('batch', entry))).json() as {
    entry: { response: { status: string } }[]
  }
  assert.match(answer.entry[0]?.response.status ?? '', /^4/)
})

test('a server that stops and starts tells both, so that a time without records has its marks', async () => {
  const server = await audited()
  const [start] = await eventsOf(server)
  assert.is(start?.subtype[0]?.code, '110120')
  await server.stop()
})

test.run()
