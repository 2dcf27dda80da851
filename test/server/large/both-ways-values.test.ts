/** Threads and the main thread take the same values for the same: numbers, texts, codes, extensions, links. */
// database: sqlite, because values are compared as threads make them, before they are stored
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Asked, CASELESS, type TwoServers, twoServers } from './two-servers.ts'

let servers: TwoServers
test.before(async () => {
  // Many refer to what the package does not hold.
  servers = await twoServers({ reference_policy: 'fhir', conditional_delete: 'multiple' })
})
test.after(() => servers.stop())

const both = (asked: Asked) => servers.both(asked)
const sameRows = () => servers.sameRows()

const patient = { resourceType: 'Patient', id: 'p', name: [{ family: 'Chalmers', given: ['Peter'] }], gender: 'male' }

/** A number is written as its digits. */
const observation = (id: string, value: string, more: object = {}): string =>
  JSON.stringify({
    resourceType: 'Observation',
    id,
    status: 'final',
    code: { coding: [{ system: CASELESS, code: 'AbC', display: 'weight' }] },
    valueQuantity: { value: 'DIGITS', unit: 'kg', system: 'http://unitsofmeasure.org', code: 'kg' },
    ...more,
  }).replaceAll('"DIGITS"', value)

test('long decimals, long texts and displays, and codes without case are indexed the same way', async () => {
  const put = (id: string, payload: string) => both({ method: 'PUT', url: `/Observation/${id}`, payload })
  const DECIMALS = [
    '1.00000000000000000001',
    '1.00000000000000000002',
    '123456789012345678901234567890.5',
    '-0.1000000000000000000000000000001',
    '1e-320',
    '5E+3',
  ]
  for (const value of DECIMALS) {
    assert.ok((await put('number', observation('number', value))).statusCode < 300, value)
    await sameRows()
  }
  const inside = { contained: [JSON.parse(observation('inside', '1'))], hasMember: [{ reference: '#inside' }] }
  const component = [{ code: { coding: [{ system: CASELESS, code: 'xYz' }] }, valueQuantity: { value: 'DIGITS' } }]
  const [long, other] = ['a', 'b'].map((last) => 'é'.repeat(9_999) + last)
  for (const text of [long, other]) {
    const coding = [{ system: CASELESS, code: 'LONG', display: text }]
    const more = { ...inside, component, code: { text, coding }, valueQuantity: undefined, valueString: text }
    assert.ok((await put('text', observation('text', DECIMALS[0] as string, more))).statusCode < 300)
    await sameRows()
    assert.ok(
      (
        await both({
          method: 'PUT',
          url: '/Patient/q',
          payload: JSON.stringify({ ...patient, id: 'q', name: [{ text }] }),
        })
      ).statusCode < 300,
    )
    await sameRows()
  }
  for (const query of [
    `code=${CASELESS}|aBC`,
    `code=${CASELESS}|long`,
    'value-quantity=1.00000000000000000002',
    'value-quantity=lt1',
    'code:text=weight',
  ])
    await both({ method: 'GET', url: `/Observation?${query}` })
})

test('what changes nothing makes no version, and labels and patches neither', async () => {
  const url = '/Patient/same'
  const same = { ...patient, id: 'same', meta: { tag: [{ system: 'http://example.org', code: 'x' }] } }
  const payload = JSON.stringify(same)
  const first = await both({ method: 'PUT', url, payload })
  for (const again of [payload, JSON.stringify({ ...same, meta: { ...same.meta, versionId: '7' } })])
    assert.is((await both({ method: 'PUT', url, payload: again })).etag, first.etag)
  for (const patch of ['{"gender":"male"}', '{}'])
    assert.is(
      (await both({ method: 'PATCH', url, payload: patch, type: 'application/merge-patch+json' })).etag,
      first.etag,
    )
  await both({ method: 'POST', url: `${url}/$meta-add`, payload: '{"resourceType":"Parameters"}' })
  await both({ method: 'PUT', url, payload: ` ${payload}` })
  await both({ method: 'GET', url: `${url}/_history` })
  await sameRows()
})

test('extensions and narratives are held to their definitions the same way', async () => {
  const CORE = 'http://hl7.org/fhir/StructureDefinition/'
  const div = (inner: string) => ({
    status: 'generated',
    div: `<div xmlns="http://www.w3.org/1999/xhtml">${inner}</div>`,
  })
  const extended = (...extension: object[]) => ({ resourceType: 'Patient', extension })
  const place = { url: `${CORE}patient-birthPlace`, valueAddress: { city: 'X' } }
  const statuses: number[] = []
  for (const resource of [
    extended(place),
    extended({ ...place, valueAddress: undefined, valueString: 'X' }),
    extended({ url: `${CORE}patient-birthTime`, valueDateTime: '2020-01-01T00:00:00Z' }),
    extended(place, place),
    extended({ url: 'http://example.org/not-installed', valueString: 'x' }),
    { resourceType: 'Patient', modifierExtension: [place] },
    { resourceType: 'Patient', text: div('<p>x</p>') },
    { resourceType: 'Patient', text: div('<script>x</script>') },
    { resourceType: 'Patient', text: div(' ') },
    { resourceType: 'Patient', gender: 'none', extension: [{ ...place, valueAddress: undefined }], text: div('<a>') },
  ]) {
    const payload = JSON.stringify(resource)
    statuses.push(
      (await both({ method: 'POST', url: '/Patient', payload, prefer: 'return=OperationOutcome' })).statusCode,
    )
    await both({ method: 'POST', url: '/Patient/$validate', payload })
  }
  assert.ok(statuses.includes(201) && statuses.includes(422), statuses.join(' '))
  await sameRows()
})

test('a patch in a transaction that brings links is the same', async () => {
  await both({ method: 'PUT', url: '/Observation/linked', payload: observation('linked', '1') })
  const urn = 'urn:uuid:00000000-0000-4000-8000-00000000000a'
  const operations = [
    { op: 'add', path: '/subject', value: { reference: urn } },
    { op: 'add', path: '/focus', value: [{ reference: 'Patient?_id=q' }] },
  ]
  const data = Buffer.from(JSON.stringify(operations)).toString('base64')
  const entry = [
    {
      fullUrl: urn,
      resource: { resourceType: 'Patient', name: [{ family: 'Linked' }] },
      request: { method: 'POST', url: 'Patient' },
    },
    {
      resource: { resourceType: 'Binary', contentType: 'application/json-patch+json', data },
      request: { method: 'PATCH', url: 'Observation/linked' },
    },
  ]
  const payload = JSON.stringify({ resourceType: 'Bundle', type: 'transaction', entry })
  assert.is((await both({ method: 'POST', url: '/', payload })).statusCode, 200)
  const { subject, focus } = JSON.parse((await both({ method: 'GET', url: '/Observation/linked' })).body)
  assert.match(subject.reference, /^Patient\/[^:]+$/)
  assert.equal(focus, [{ reference: 'Patient/q' }])
  await sameRows()
})

test('operations and conditional deletions in a transaction are the same', async () => {
  for (const id of ['labelled', 'left', 'right'])
    await both({
      method: 'PUT',
      url: `/Patient/${id}`,
      payload: JSON.stringify({
        ...patient,
        id,
        identifier: [{ system: 'http://example.org', value: id === 'labelled' ? id : 'gone' }],
      }),
    })
  const meta = { name: 'meta', valueMeta: { tag: [{ system: 'http://example.org', code: 'y' }] } }
  const entry = [
    {
      resource: { resourceType: 'Parameters', parameter: [meta] },
      request: { method: 'POST', url: 'Patient/labelled/$meta-add' },
    },
    { request: { method: 'DELETE', url: 'Patient?identifier=http://example.org|gone' } },
  ]
  const payload = JSON.stringify({ resourceType: 'Bundle', type: 'transaction', entry })
  assert.is((await both({ method: 'POST', url: '/', payload })).statusCode, 200)
  assert.match((await both({ method: 'GET', url: '/Patient/labelled' })).body, '"code":"y"')
  for (const id of ['left', 'right']) assert.is((await both({ method: 'GET', url: `/Patient/${id}` })).statusCode, 410)
  await sameRows()
})

test.run()
