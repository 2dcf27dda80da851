/** What a change asks of the current version: RFC 9110, section 13; https://hl7.org/fhir/R4/http.html#concurrency */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createManualClock } from '../../support/manual-clock.ts'
import { type Answered, type Clinic, clinicWith, del, type Entry, type Json, post, put } from './clinic.ts'

const JSON_PATCH = 'application/json-patch+json'
const PATCH = JSON.stringify([{ op: 'add', path: '/active', value: true }])
const patchEntry = (url: string, request: Json = {}): Entry => ({
  resource: { resourceType: 'Binary', contentType: JSON_PATCH, data: btoa(PATCH) },
  request: { method: 'PATCH', url, ...request },
})
const patient = (more: Json = {}): Json => ({ resourceType: 'Patient', ...more })

let clinic: Clinic
const clock = createManualClock()
test.before(async () => {
  clinic = await clinicWith({}, [], { clock })
})
test.after(() => clinic.stop())

type Headers = Readonly<Record<string, string>>
/** Each kind of change of `address`, and what it sends. */
const changes = (address: string, resource: Json) =>
  [
    ['PUT', (headers: Headers) => clinic.ask('PUT', address, resource, { headers })],
    [
      'PATCH',
      (headers: Headers) =>
        clinic.ask('PATCH', address, PATCH, { headers: { ...headers, 'content-type': JSON_PATCH } }),
    ],
    ['DELETE', (headers: Headers) => clinic.ask('DELETE', address, undefined, { headers })],
  ] as const
const refused = ({ status, json, text }: Answered, expected: number, pattern: RegExp): void => {
  assert.is(status, expected, text)
  assert.match(json.issue[0].diagnostics, pattern)
}
const versionOf = async (id: string): Promise<string> =>
  (await clinic.ask('GET', `/Patient/${id}`)).json.meta?.versionId

test('If-Unmodified-Since with an earlier date refuses every change with 412', async () => {
  const id = await clinic.create(patient())
  for (const date of [
    'Mon, 01 Jan 2001 00:00:00 GMT',
    'Monday, 01-Jan-01 00:00:00 GMT',
    'Mon Jan  1 00:00:00 2001',
    new Date(clock.now() - 1_000).toUTCString(),
  ])
    for (const address of [`/Patient/${id}`, `/Patient?_id=${id}`])
      for (const [method, change] of changes(address, patient({ id, gender: 'other' }))) {
        const answer = await change({ 'if-unmodified-since': date })
        assert.is(answer.status, 412, `${method} ${address} ${date}: ${answer.text}`)
        refused(answer, 412, /later than If-Unmodified-Since/)
      }
  assert.is(await versionOf(id), '1')
})

test('If-Unmodified-Since with the Last-Modified of the current version lets the change pass', async () => {
  for (const at of [0, 1, 2]) {
    const id = await clinic.create(patient())
    const modified = (await clinic.ask('GET', `/Patient/${id}`)).headers['last-modified']
    const [method, change] = changes(`/Patient/${id}`, patient({ id, active: true }))[at]!
    const answer = await change({ 'if-unmodified-since': modified })
    assert.ok(answer.status < 300, `${method}: ${answer.text}`)
  }
})

test('If-Unmodified-Since is ignored where it is no date, beside If-Match, and where nothing is there', async () => {
  const past = 'Mon, 01 Jan 2001 00:00:00 GMT'
  for (const headers of [
    { 'if-unmodified-since': '2001-01-01T00:00:00Z' },
    { 'if-unmodified-since': 'yesterday' },
    { 'if-unmodified-since': '0' },
    { 'if-unmodified-since': 'Sat, 31 Feb 2001 00:00:00 GMT' },
    { 'if-unmodified-since': 'Mon, 01 Jan 2001 24:00:00 GMT' },
    { 'if-unmodified-since': `${past}, ${past}` },
    { 'if-unmodified-since': past, 'if-match': 'W/"1"' },
  ] as Headers[]) {
    const id = await clinic.create(patient())
    const answer = await clinic.ask('PUT', `/Patient/${id}`, patient({ id, active: true }), { headers })
    assert.is(answer.status, 200, `${JSON.stringify(headers)} ${answer.text}`)
  }
  const created = await clinic.ask('PUT', '/Patient/fresh', patient({ id: 'fresh' }), {
    headers: { 'if-unmodified-since': past },
  })
  assert.is(created.status, 201, created.text)
})

test('If-Match that fails refuses although If-Unmodified-Since holds', async () => {
  const id = await clinic.create(patient())
  const headers = { 'if-match': 'W/"7"', 'if-unmodified-since': 'Fri, 01 Jan 2100 00:00:00 GMT' }
  refused(await clinic.ask('PUT', `/Patient/${id}`, patient({ id }), { headers }), 412, /If-Match names another/)
})

test('of writers that read the same version in an earlier second one gets through by If-Unmodified-Since', async () => {
  const id = await clinic.create(patient())
  const modified = (await clinic.ask('GET', `/Patient/${id}`)).headers['last-modified']
  await clock.advance(2_000)
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, n) =>
      clinic.ask('PUT', `/Patient/${id}`, patient({ id, name: [{ family: `${n}` }] }), {
        headers: { 'if-unmodified-since': modified },
      }),
    ),
  )
  assert.equal(answers.map(({ status }) => status).sort(), [200, ...new Array(9).fill(412)])
  assert.is(await versionOf(id), '2')
})

test('If-None-Exist on an update, patch or deletion is 400 and says what to send, alone and in a Bundle', async () => {
  const id = await clinic.create(patient())
  for (const address of [`/Patient/${id}`, `/Patient?_id=${id}`])
    for (const [, change] of changes(address, patient({ id, active: true })))
      refused(await change({ 'if-none-exist': 'identifier=1' }), 400, /If-None-Exist does not go with .* POST/)
  const request = { ifNoneExist: 'identifier=1' }
  for (const entry of [
    put(patient({ id }), undefined, request),
    del(`Patient/${id}`, request),
    patchEntry(`Patient/${id}`, request),
  ]) {
    const batch = await clinic.bundle('batch', [entry])
    assert.is(batch.json.entry[0].response.status, '400 Bad Request', batch.text)
    refused(await clinic.bundle('transaction', [entry]), 400, /If-None-Exist/)
  }
  assert.is(await versionOf(id), '1')
})

test('If-Match and If-None-Match on a create are 400 and say what to send, alone and in a Bundle', async () => {
  const before = (await clinic.ids('Patient')).length
  for (const [header, element, value] of [
    ['if-match', 'ifMatch', 'W/"1"'],
    ['if-none-match', 'ifNoneMatch', '*'],
  ] as const)
    for (const more of [{}, { 'if-none-exist': 'identifier=none' }] as Headers[]) {
      refused(
        await clinic.ask('POST', '/Patient', patient(), { headers: { ...more, [header]: value } }),
        400,
        /does not go with a create/,
      )
      const entry = post(patient(), undefined, { [element]: value })
      const batch = await clinic.bundle('batch', [entry])
      assert.is(batch.json.entry[0].response.status, '400 Bad Request', batch.text)
      refused(await clinic.bundle('transaction', [entry]), 400, /does not go with a create/)
    }
  assert.is((await clinic.ids('Patient')).length, before)
})

test('a condition of a whole Bundle is 400 and names the element of the entry', async () => {
  const before = (await clinic.ids('Patient')).length
  for (const kind of ['batch', 'transaction'] as const)
    for (const header of ['if-match', 'if-none-match', 'if-none-exist']) {
      const answer = await clinic.bundle(kind, [post(patient())], { headers: { [header]: '*' } })
      refused(answer, 400, /does not go with a Bundle.*ifNoneExist/)
    }
  assert.is((await clinic.ids('Patient')).length, before)
})

test('If-Match on a conditional change that matches nothing is 412 and names no id', async () => {
  const criteria = 'Patient?identifier=nobody'
  for (const value of ['W/"5"', '*']) {
    for (const [method, change] of changes(`/${criteria}`, patient())) {
      const answer = await change({ 'if-match': value })
      assert.is(answer.status, 412, `${method}: ${answer.text}`)
      assert.is(
        answer.json.issue[0].diagnostics,
        'No resource of type Patient matches the criteria, so there is none for If-Match to match.',
      )
    }
    const request = { ifMatch: value, url: criteria }
    for (const entry of [put(patient(), undefined, request), del(criteria, request), patchEntry(criteria, request)]) {
      const batch = await clinic.bundle('batch', [entry])
      assert.is(batch.json.entry[0].response.status, '412 Precondition Failed', batch.text)
      refused(await clinic.bundle('transaction', [entry]), 412, /No resource of type Patient matches/)
    }
  }
  assert.is((await clinic.ask('DELETE', `/${criteria}`)).status, 204)
})

const S = 'http://preconditions'
const marked = (id: string, value: string): Json => patient({ id, identifier: [{ system: S, value }] })

test('a conditional update that matches nothing does not replace the resource whose id its body has', async () => {
  assert.is((await clinic.ask('PUT', '/Patient/taken', marked('taken', 'first'))).status, 201)
  const url = `Patient?identifier=${S}|other`
  for (const body of [marked('taken', 'other'), marked('taken', 'first')]) {
    refused(await clinic.ask('PUT', `/${url}`, body), 409, /Patient\/taken exists and does not match/)
    const entry = put(body, undefined, { url })
    const batch = await clinic.bundle('batch', [entry])
    assert.is(batch.json.entry[0].response.status, '409 Conflict', batch.text)
    refused(await clinic.bundle('transaction', [entry]), 409, /Patient\/taken exists/)
  }
  const { json } = await clinic.ask('GET', '/Patient/taken')
  assert.equal([json.meta.versionId, json.identifier[0].value], ['1', 'first'])
  const matched = await clinic.ask('PUT', `/Patient?identifier=${S}|first`, marked('taken', 'second'))
  assert.equal([matched.status, matched.headers.etag], [200, 'W/"2"'])
})

test('a conditional update makes what is not there, and what was deleted, under the id its body has', async () => {
  const url = `/Patient?identifier=${S}|deleted`
  assert.is((await clinic.ask('PUT', url, marked('gone', 'deleted'))).status, 201)
  assert.is((await clinic.ask('DELETE', '/Patient/gone')).status, 204)
  const again = await clinic.ask('PUT', url, marked('gone', 'deleted'))
  assert.equal([again.status, again.headers.etag], [201, 'W/"3"'])
})

test('conditional and plain updates of one id at once: none is lost, and none is 409', async () => {
  for (let round = 0; round < 5; round += 1) {
    const id = `crowd-${round}`
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => {
        const body = { ...marked(id, id), name: [{ family: `${n}` }] }
        return clinic.ask('PUT', n % 2 === 0 ? `/Patient?identifier=${S}|${id}` : `/Patient/${id}`, body)
      }),
    )
    const statuses = answers.map(({ status }) => status).sort()
    assert.equal(statuses, [...new Array(19).fill(200), 201])
    assert.is(await versionOf(id), '20')
  }
})

test.run()
