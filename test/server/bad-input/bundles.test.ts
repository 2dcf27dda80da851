/** Bundles, patches and conditional changes that must not come through, and those that must: rows 59 to 69. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { assertQuick, cpuTime } from '../../support/cpu-time.ts'
import { assertRefused, assertServes, type Expected } from '../../support/refused.ts'
import { type Clinic, clinicWith, del, type Entry, get, type Json, post, put } from '../writes/clinic.ts'

let clinic: Clinic
test.before(async () => {
  clinic = await clinicWith({ fhir: { max_body_bytes: 2 * 1024 * 1024 } })
})
test.after(() => clinic.stop())

const JSON_TYPE = { 'content-type': 'application/fhir+json' }
const send = (method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', url: string, payload?: string, headers = {}) =>
  clinic.server.inject({
    method,
    url,
    headers: { ...JSON_TYPE, ...headers },
    ...(payload === undefined ? {} : { payload }),
  })
const bundle = (type: string, entry: readonly (Entry | Json)[]) =>
  send('POST', '/', JSON.stringify({ resourceType: 'Bundle', type, entry }))
const total = async (type: string): Promise<number> => (await clinic.ask('GET', `/${type}?_summary=count`)).json.total
/** Refused, and the number of resources stays. */
const leaves = async (type: string, work: () => Promise<unknown>): Promise<void> => {
  const before = await total(type)
  await work()
  assert.is(await total(type), before)
}

const S = 'http://bad-bundles'
const patient = (value: string, more: Json = {}): Json => ({
  resourceType: 'Patient',
  identifier: [{ system: S, value }],
  ...more,
})
const by = (value: string): string => `identifier=${S}|${value}`
const A = 'urn:uuid:0c3151bd-1cbf-4d64-b04d-cd9187a4c6e0'
const B = 'urn:uuid:53fefa32-fcbb-4ff8-8a92-55ee120877b7'

test('a Bundle of too many entries or too many bytes is refused, whole (row 59)', async () => {
  await leaves('Basic', async () => {
    for (const type of ['batch', 'transaction']) {
      const many = await bundle(
        type,
        Array.from({ length: 10_001 }, () => post({ resourceType: 'Basic' })),
      )
      assertRefused(many, { status: 413, code: 'too-costly' }, type)
      const large = post({ resourceType: 'Basic', text: { div: 'x'.repeat(3 * 1024 * 1024) } })
      assertRefused(await bundle(type, [large]), { status: 413, code: 'too-long' }, type)
    }
  })
  await assertServes(clinic.server, 'row 59')
})

test('what is no batch and no transaction is refused at the base (row 60)', async () => {
  const invalid: Expected = { status: 400, code: 'invalid' }
  for (const type of ['searchset', 'document', 'message', 'history', 'collection', 'batch-response', 'Batch', ''])
    assertRefused(await bundle(type, []), invalid, type)
  for (const body of [
    '{"resourceType":"Bundle"}',
    '{"resourceType":"Bundle","type":1}',
    '{"resourceType":"Patient"}',
    '{}',
  ])
    assertRefused(await send('POST', '/', body), invalid, body)
  assertRefused(await send('POST', '/', '[]'), { status: 400, code: 'structure' }, 'a list')
  await assertServes(clinic.server, 'row 60')
})

test('an entry reaches nothing but FHIR interactions of this server (row 61)', async () => {
  const urls: readonly [string, number][] = [
    ['/_audit', 404],
    ['_usage', 404],
    ['/oauth/register', 404],
    ['livez', 404],
    ['$export', 404],
    ['metadata/x', 404],
    ['http://other/', 400],
    ['http://169.254.169.254/Patient/1', 400],
    ['//other/Patient/1', 400],
    ['../x', 400],
    ['Patient/..%2f..%2fx', 400],
    ['file:///etc/passwd', 400],
    ['javascript:alert(1)', 400],
  ]
  for (const [url, status] of urls)
    for (const method of ['GET', 'POST']) {
      const entry = { request: { method, url }, ...(method === 'POST' ? { resource: { resourceType: 'Basic' } } : {}) }
      const codes = ['value', 'not-found', 'not-supported', 'invalid']
      assertRefused(
        await bundle('transaction', [entry]),
        { status: [status, 400, 405], code: codes },
        `${method} ${url}`,
      )
      const { response } = (await bundle('batch', [entry])).json().entry[0]
      assert.match(response.status, /^40[045]/, `${method} ${url}`)
    }
  await assertServes(clinic.server, 'row 61')
})

test('a Bundle in a Bundle, two changes of one resource, one fullUrl twice are refused (row 62)', async () => {
  const invalid: Expected = { status: 400, code: 'invalid' }
  await leaves('Basic', async () => {
    const first = post({ resourceType: 'Basic' })
    const nested = { resource: { resourceType: 'Bundle', type: 'batch' }, request: { method: 'POST', url: 'Bundle' } }
    assertRefused(await bundle('transaction', [first, nested]), invalid, 'nested')
    const twice = [put({ resourceType: 'Basic', id: 'twice' }), put({ resourceType: 'Basic', id: 'twice' })]
    assertRefused(await bundle('transaction', [first, ...twice]), invalid, 'twice')
    assertRefused(
      await bundle('transaction', [first, twice[0] as Entry, del('Basic/twice')]),
      invalid,
      'put and delete',
    )
    const url = [post({ resourceType: 'Basic' }, A), post({ resourceType: 'Basic' }, A)]
    for (const type of ['batch', 'transaction']) assertRefused(await bundle(type, url), invalid, `fullUrl in ${type}`)
  })
  await assertServes(clinic.server, 'row 62')
})

test('resources that point at each other in a circle are both stored and linked (row 63)', async () => {
  const link = (other: string): Json => ({
    resourceType: 'Patient',
    link: [{ other: { reference: other }, type: 'seealso' }],
  })
  const answer = await bundle('transaction', [post(link(B), A), post(link(A), B)])
  assert.is(answer.statusCode, 200, answer.body)
  const [one, other] = answer.json().entry.map(({ response }: Json) => response.location.replace(/\/_history.*/, ''))
  assert.is((await clinic.ask('GET', `/${one}`)).json.link[0].other.reference, other)
  assert.is((await clinic.ask('GET', `/${other}`)).json.link[0].other.reference, one)
})

test('a conditional reference that matches nothing or several, or goes in circles, is refused and ends (row 64)', async () => {
  const about = (reference: string, fullUrl?: string): Entry =>
    post({ resourceType: 'Observation', subject: { reference } }, fullUrl)
  for (let n = 0; n < 2; n += 1) await clinic.create(patient('several'))
  await leaves('Observation', async () => {
    const none = await bundle('transaction', [about(`Patient?${by('none')}`)])
    assertRefused(none, { status: [400, 412], code: 'not-found' }, 'none')
    const several = await bundle('transaction', [about(`Patient?${by('several')}`)])
    assertRefused(several, { status: 412, code: 'multiple-matches' }, 'several')
  })
  // Each is what the other's condition matches: they are told from what is written, once.
  const circle = await bundle('transaction', [
    post(patient('left', { link: [{ other: { reference: `Patient?${by('right')}` }, type: 'seealso' }] }), A),
    post(patient('right', { link: [{ other: { reference: `Patient?${by('left')}` }, type: 'seealso' }] }), B),
    post(patient('self', { link: [{ other: { reference: `Patient?${by('self')}` }, type: 'seealso' }] })),
  ])
  assert.is(circle.statusCode, 200, circle.body)
  const ids = circle.json().entry.map(({ response }: Json) => response.location.replace(/\/_history.*/, ''))
  const links: string[] = []
  for (const id of ids) links.push((await clinic.ask('GET', `/${id}`)).json.link[0].other.reference)
  assert.equal(links, [ids[1], ids[0], ids[2]])
  await assertServes(clinic.server, 'row 64')
})

test('a transaction that fails at its last entry leaves nothing: no resource, version or row of the index (row 65)', async () => {
  const id = await clinic.create(patient('kept', { active: true }))
  const history = async (): Promise<number> => (await clinic.ask('GET', '/_history?_count=1000')).json.entry.length
  const before = await history()
  for (const last of [
    get('Patient/missing'),
    put(patient('x', { id: 'a_b' })),
    post(patient('x'), undefined, { ifNoneExist: '_count=1' }),
  ]) {
    const answer = await bundle('transaction', [
      ...Array.from({ length: 20 }, () => post(patient('failed'))),
      put(patient('failed', { id })),
      last,
    ])
    const expected: Expected = { status: [400, 404], code: ['not-found', 'value', 'not-supported', 'invalid'] }
    assertRefused(answer, expected, JSON.stringify(last.request))
    assert.match(answer.json().issue[0].expression[0], /^Bundle\.entry\[21\]/)
  }
  assert.is(await history(), before)
  assert.is((await clinic.ask('GET', `/Patient?${by('failed')}`)).json.entry, undefined)
  assert.is((await clinic.ask('GET', `/Patient?${by('kept')}`)).json.entry.length, 1)
  assert.is((await clinic.ask('GET', `/Patient/${id}`)).headers.etag, 'W/"1"')
  await assertServes(clinic.server, 'row 65')
})

test('a patch of the prototype, of the id, of the version, or without end is refused (row 68)', async () => {
  const id = await clinic.create(patient('patched', { active: true }))
  const patch = (operations: unknown) =>
    send('PATCH', `/Patient/${id}`, JSON.stringify(operations), { 'content-type': 'application/json-patch+json' })
  for (const path of ['/__proto__/x', '/constructor/prototype/x', '/id', '/meta/versionId', '/resourceType', '/x/y/z'])
    assertRefused(
      await patch([{ op: 'add', path, value: 'x' }]),
      { status: [400, 422], code: ['processing', 'business-rule'] },
      path,
    )
  assert.is(({} as Json).x, undefined)
  assertRefused(
    await patch([{ op: 'test', path: '/active', value: false }]),
    { status: 422, code: 'processing' },
    'test',
  )
  const many = Array.from({ length: 10_000 }, () => ({ op: 'test', path: '/active', value: true }))
  assertRefused(await patch(many), { status: 413, code: 'too-costly' }, 'many')
  const started = cpuTime()
  const doubling = Array.from({ length: 30 }, () => ({ op: 'copy', from: '/extension', path: '/extension/-' }))
  const endless = [{ op: 'add', path: '/extension', value: [{ url: 'http://x'.repeat(50) }] }, ...doubling]
  assertRefused(await patch(endless), { status: 413, code: 'too-costly' }, 'doubling')
  assertQuick(cpuTime() - started, 5_000) // a thousand million copies take more than the machine has
  assert.is((await clinic.ask('GET', `/Patient/${id}`)).headers.etag, 'W/"1"')
  await assertServes(clinic.server, 'row 68')
})

test('a conditional delete without criteria, or of many, deletes nothing (row 69)', async () => {
  for (let n = 0; n < 3; n += 1) await clinic.create(patient('many'))
  await leaves('Patient', async () => {
    for (const url of ['/Patient', '/Patient?', '/Patient?_format=json', '/Patient?_pretty=true'])
      assertRefused(await send('DELETE', url), { status: 412, code: 'required' }, url)
    for (const url of ['/Patient?_count=1', '/Patient?_sort=_id', '/Patient?_elements=id&_total=none'])
      assertRefused(await send('DELETE', url), { status: [400, 412], code: ['not-supported', 'required'] }, url)
    assertRefused(await send('DELETE', '/Patient?bogus=1'), { status: 400, code: 'not-supported' }, 'bogus')
    assertRefused(
      await send('DELETE', '/Patient?bogus=1', undefined, { prefer: 'handling=lenient' }),
      { status: [400, 412], code: ['not-supported', 'required'] },
      'lenient',
    )
    assertRefused(await send('DELETE', `/Patient?${by('many')}`), { status: 412, code: 'multiple-matches' }, 'many')
  })
  await assertServes(clinic.server, 'row 69')
})

test.run()
