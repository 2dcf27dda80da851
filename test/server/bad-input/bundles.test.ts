/** Bundles that should not be: too large, of another kind, with entries that lead elsewhere or get in each other's way. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import references from '../../../plugins/references/index.ts'
import { assertRefused, assertServes } from '../../support/refused.ts'
import { type Answered, type Clinic, clinicWith, del, type Entry, get, type Json, post, put } from '../writes/clinic.ts'

let clinic: Clinic
test.before(async () => {
  clinic = await clinicWith({}, [references])
})
test.after(() => clinic.stop())

const PATIENT = { resourceType: 'Patient' }
const A = 'urn:uuid:0c3151bd-1cbf-4d64-b04d-cd9187a4c6e0'
const B = 'urn:uuid:53fefa32-fcbb-4ff8-8a92-55ee120877b7'

const asAnswer = ({ status, headers, text }: Answered) => ({ statusCode: status, headers, body: text })
const refused = (answer: Answered, status: number, code: string | readonly string[], about: string): void =>
  void assertRefused(asAnswer(answer), { status, code }, about)
const send = (bundle: unknown): Promise<Answered> => clinic.ask('POST', '/', JSON.stringify(bundle))
const transaction = (...entry: readonly Entry[]): Promise<Answered> => clinic.bundle('transaction', entry)
/** Status of each entry of a batch. */
const batch = async (...entry: readonly Entry[]): Promise<readonly number[]> => {
  const answer = await clinic.bundle('batch', entry)
  assert.is(answer.status, 200, answer.text)
  return answer.json.entry.map(({ response }: Json) => Number(response.status.slice(0, 3)))
}
const total = async (): Promise<number> => (await clinic.ask('GET', '/Patient?_summary=count')).json.total as number

test('ten thousand and one entries are refused as too costly, and so is a Bundle of fifty megabytes (row 59)', async () => {
  const before = await total()
  for (const type of ['batch', 'transaction'])
    refused(
      await send({ resourceType: 'Bundle', type, entry: Array.from({ length: 10_001 }, () => post(PATIENT)) }),
      413,
      'too-costly',
      type,
    )
  const filler = 'x'.repeat(512 * 1024)
  const entry = Array.from({ length: 100 }, () => post({ ...PATIENT, name: [{ family: filler }] }))
  refused(await send({ resourceType: 'Bundle', type: 'transaction', entry }), 413, ['too-costly', 'too-long'], '50 MB')
  assert.is(await total(), before)
  await assertServes(clinic.server, 'row 59')
})

test('a Bundle without type, or of one that is nothing to do, is refused at the base (row 60)', async () => {
  for (const type of [
    undefined,
    null,
    '',
    'searchset',
    'document',
    'history',
    'collection',
    'Transaction',
    1,
    ['batch'],
  ])
    refused(
      await send({ resourceType: 'Bundle', type, entry: [post(PATIENT)] }),
      400,
      ['invalid', 'structure'],
      String(type),
    )
  for (const body of [{}, { resourceType: 'Patient' }, { resourceType: 'Bundles', type: 'batch' }])
    refused(await send(body), 400, ['invalid', 'structure'], JSON.stringify(body))
  await assertServes(clinic.server, 'row 60')
})

test('an entry leads to the resources of this server and nowhere else (row 61)', async () => {
  const before = await total()
  const urls = [
    '/_audit',
    '_audit',
    '_audit/verify',
    '_usage',
    '_requests',
    '/oauth/register',
    'livez',
    'metadata/../Patient',
    'http://other.example/Patient',
    'https://other.example/fhir/Patient/1',
    '//other.example/Patient',
    'file:///etc/passwd',
    '../Patient',
    'Patient/../../etc',
    'Patient/%2e%2e/1',
    'Patient\\1',
    'Patient#1',
    '$export',
    'export/1',
    'Patient/$nothing',
    '%',
    '.',
  ]
  for (const url of urls)
    for (const method of ['GET', 'POST', 'DELETE']) {
      const entry: Entry = method === 'POST' ? post(PATIENT, undefined, { url }) : { request: { method, url } }
      const [status = 0] = await batch(entry)
      assert.ok([400, 404, 405].includes(status), `${method} ${url}: ${status}`)
      const whole = await transaction(entry)
      assert.ok([400, 404, 405].includes(whole.status), `${method} ${url}: ${whole.status}`)
      assert.is(whole.json.issue[0].expression[0], 'Bundle.entry[0]', `${method} ${url}`)
    }
  assert.is(await total(), before)
  await assertServes(clinic.server, 'row 61')
})

test('a Bundle in a Bundle, two entries on one resource and one fullUrl twice are refused (row 62)', async () => {
  const inner = { resourceType: 'Bundle', type: 'transaction', entry: [post(PATIENT)] }
  for (const entry of [post(inner, undefined, { url: '' }), post(inner, undefined, { url: '/' }), post(inner)]) {
    const answer = await transaction(entry)
    assert.is(answer.status, 400, answer.text)
  }
  const id = await clinic.create(PATIENT)
  for (const [about, ...entries] of [
    ['two updates', put({ ...PATIENT, id }), put({ ...PATIENT, id })],
    ['an update and a deletion', put({ ...PATIENT, id }), del(`Patient/${id}`)],
    ['two deletions', del(`Patient/${id}`), del(`Patient/${id}`)],
    ['one fullUrl twice', post(PATIENT, A), post(PATIENT, A)],
  ] as [string, ...Entry[]][]) {
    refused(await transaction(...entries), 400, 'invalid', about)
  }
  assert.is((await clinic.ask('GET', `/Patient/${id}`)).json.meta.versionId, '1')
})

test('two resources that refer to each other are both stored and linked (row 63)', async () => {
  const linked = (to: string): Json => ({ ...PATIENT, link: [{ other: { reference: to }, type: 'seealso' }] })
  const answer = await transaction(post(linked(B), A), post(linked(A), B))
  assert.is(answer.status, 200, answer.text)
  const [one, other] = answer.json.entry.map(({ response }: Json) => response.location.replace(/\/_history.*/, ''))
  assert.is((await clinic.ask('GET', `/${one}`)).json.link[0].other.reference, other)
  assert.is((await clinic.ask('GET', `/${other}`)).json.link[0].other.reference, one)
})

test('conditional references that match nothing, several, each other or themselves end (row 64)', async () => {
  const known = (value: string, reference?: string): Json => ({
    ...PATIENT,
    identifier: [{ system: 'http://example.org/i', value }],
    ...(reference === undefined ? {} : { link: [{ other: { reference }, type: 'seealso' }] }),
  })
  const matching = (value: string): string => `Patient?identifier=http://example.org/i|${value}`
  refused(await transaction(post(known('a', matching('nobody')))), 400, 'not-found', 'none')
  await transaction(post(known('twice')), post(known('twice')))
  refused(await transaction(post(known('b', matching('twice')))), 412, 'multiple-matches', 'two')
  const before = await total()
  const answer = await transaction(
    post(known('self', matching('self'))),
    post(known('one', matching('other'))),
    post(known('other', matching('one'))),
  )
  assert.is(answer.status, 200, answer.text)
  assert.is(await total(), before + 3)
  const [self, one, other] = answer.json.entry.map(({ response }: Json) =>
    response.location.replace(/\/_history.*/, ''),
  )
  for (const [from, to] of [
    [self, self],
    [one, other],
    [other, one],
  ])
    assert.is((await clinic.ask('GET', `/${from}`)).json.link[0].other.reference, to)
})

test('what fails at the last entry leaves nothing: no resource, no version, no row of the index (row 65)', async () => {
  const id = await clinic.create(PATIENT)
  const before = await total()
  const marked = { ...PATIENT, identifier: [{ system: 'http://example.org/i', value: 'undone' }] }
  const failing: readonly [string, Entry][] = [
    ['an unknown type', post({ resourceType: 'Foo' })],
    ['a broken reference', post({ ...PATIENT, managingOrganization: { reference: 'Organization/nobody' } })],
    ['a stale version', put({ ...PATIENT, id }, undefined, { ifMatch: 'W/"7"' })],
    ['a read of nothing', get('Patient/nobody')],
    ['a search that is none', get('Patient?nothing=1')],
  ]
  for (const [about, last] of failing) {
    const entries = [...Array.from({ length: 20 }, () => post(marked)), put({ ...marked, id: 'undone' })]
    const ownId = about === 'a stale version' ? [] : [put({ ...marked, id })]
    const answer = await transaction(...entries, ...ownId, last)
    assert.ok(answer.status >= 400 && answer.status < 500, `${about}: ${answer.text}`)
    assert.is(await total(), before, about)
    assert.equal((await clinic.ask('GET', '/Patient?identifier=undone')).json.entry ?? [], [], about)
    assert.is((await clinic.ask('GET', `/Patient/${id}`)).json.meta.versionId, '1', about)
    assert.is((await clinic.ask('GET', '/Patient/undone')).status, 404, about)
    const history = (await clinic.ask('GET', '/Patient/_history?_count=1000')).text
    assert.not.match(history, 'undone', about)
  }
  await assertServes(clinic.server, 'row 65')
})

test('a conditional deletion without criteria or with several matches deletes nothing (row 69)', async () => {
  const same = { ...PATIENT, identifier: [{ system: 'http://example.org/i', value: 'same' }] }
  await transaction(post(same), post(same))
  const before = await total()
  for (const url of ['/Patient', '/Patient?', '/Patient?_format=json', '/Patient?identifier=same']) {
    const answer = await clinic.ask('DELETE', url)
    assert.ok([405, 412].includes(answer.status), `${url}: ${answer.status}`)
    assert.is(answer.json.resourceType, 'OperationOutcome')
  }
  refused(await clinic.ask('DELETE', '/Patient?identifier=same'), 412, 'multiple-matches', 'many')
  assert.is(await total(), before)
})

test.run()
