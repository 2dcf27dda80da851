/** Rights of each grant over HTTP: what one restriction adds up to, what several leave, what a change shows. */
// npm test: postgres, which is asked statements here that no other file asks
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin, type Restriction } from '../../../kernel/index.ts'
import { Fhir } from '../../../plugins/fhir/service.ts'
import { matching, onlyTypes } from '../../support/restrictions.ts'
import { type Clinic, clinicWith, type Json, post } from '../writes/clinic.ts'

let restrictions: readonly unknown[] = []
const gate = definePlugin({
  name: 'gate',
  needs: { fhir: Fhir },
  setup({ hooks, needs: { fhir } }) {
    hooks.authorize.tap('restrict', (_request, _interaction, ruling) => {
      for (const one of restrictions) ruling.restrict(one as Restriction)
    })
    fhir.operation({
      code: 'touch',
      definition: 'http://example.org/OperationDefinition/touch',
      documentation: 'Needs the right to update.',
      levels: ['instance'],
      rights: 'u',
      parameters: [],
      answer: () => ({ resource: { resourceType: 'Parameters' } }),
    })
  },
})

let clinic: Clinic
test.before(async () => {
  clinic = await clinicWith({}, [gate])
})
test.before.each(async () => {
  restrictions = []
  for (const [id, patient, status] of [
    ['a', 'p1', 'final'],
    ['b', 'p2', 'final'],
    ['c', 'p2', 'preliminary'],
    ['d', 'p1', 'preliminary'],
  ] as const)
    await clinic.ask('PUT', `/Observation/${id}`, observation(id, patient, status))
  await clinic.ask('PUT', '/Patient/p1', { resourceType: 'Patient', id: 'p1' })
  await clinic.ask('PUT', '/Patient/p2', { resourceType: 'Patient', id: 'p2' })
})
test.after.each(() => {
  restrictions = []
})
test.after(() => clinic.stop())

const observation = (id: string, patient: string, status: string, more: Json = {}): Json => ({
  resourceType: 'Observation',
  id,
  status,
  code: { text: 'x' },
  subject: { reference: `Patient/${patient}` },
  ...more,
})
const p1 = { type: 'Patient', id: 'p1' }
const status = async (method: string, url: string, body?: Json): Promise<number> =>
  (await clinic.ask(method, url, body)).status
const found = async (url: string): Promise<string> => {
  const { json, text } = await clinic.ask('GET', url)
  assert.is(json.resourceType, 'Bundle', text)
  return (
    (json.entry ?? [])
      .map(({ resource }: Json) => resource.id)
      // Not what tests have created.
      .filter((id: string) => id.length < 5)
      .sort()
      .join(' ')
  )
}

test('grants of a type are alternatives: by compartment or by search', async () => {
  restrictions = [
    {
      types: {
        Observation: [
          { rights: 'rs', compartment: p1 },
          { rights: 'rs', query: 'status=final' },
        ],
      },
      others: [],
    },
  ]
  assert.is(await found('/Observation'), 'a b d')
  assert.is((await clinic.ask('GET', '/Observation?_id=a,b,c,d&_total=accurate')).json.total, 3)
  assert.equal(
    await Promise.all(['a', 'b', 'c', 'd'].map((id) => status('GET', `/Observation/${id}`))),
    [200, 200, 404, 200],
  )
  assert.is(await found('/Observation/_history'), 'a b d')
})

test('a grant with a compartment and a search asks for both, a comma is any of the values', async () => {
  restrictions = [{ types: { Observation: [{ rights: 'rs', compartment: p1, query: 'status=final' }] }, others: [] }]
  assert.is(await found('/Observation'), 'a')
  restrictions = [matching('Observation', 'status=final,preliminary&subject=Patient/p2')]
  assert.is(await found('/Observation'), 'b c')
})

test('restrictions of several plugins all hold', async () => {
  restrictions = [
    {
      types: {
        Observation: [
          { rights: 'cruds', compartment: p1 },
          { rights: 'cruds', query: 'status=final' },
        ],
      },
      others: [],
    },
    matching('Observation', 'status=preliminary'),
  ]
  assert.is(await found('/Observation'), 'd')
  assert.is(await status('GET', '/Observation/a'), 404)
  assert.is(await status('DELETE', '/Observation/a'), 404)
  assert.is(await status('PUT', '/Observation/d', observation('d', 'p1', 'final')), 403)
})

test('each right is its own: what is seen may be out of reach of a change', async () => {
  restrictions = [
    {
      types: {
        Observation: [{ rights: 'rs' }, { rights: 'u', query: 'status=preliminary' }, { rights: 'c', compartment: p1 }],
      },
      others: [],
    },
  ]
  assert.is(await status('PUT', '/Observation/a', observation('a', 'p1', 'preliminary')), 403)
  assert.is(await status('PUT', '/Observation/c', observation('c', 'p2', 'preliminary', { language: 'en' })), 200)
  assert.is(await status('PUT', '/Observation/c', observation('c', 'p2', 'final')), 403)
  assert.is(await status('DELETE', '/Observation/c'), 403)
  assert.is(await status('POST', '/Observation', observation('', 'p1', 'final')), 400)
  const { id: _id, ...fresh } = observation('', 'p1', 'final')
  assert.is(await status('POST', '/Observation', fresh), 201)
  assert.is(await status('POST', '/Observation', { ...fresh, subject: { reference: 'Patient/p2' } }), 403)
  assert.is(await status('GET', '/Patient/p1'), 403)
})

test('a type is searched with s and read with r', async () => {
  restrictions = [{ types: { Observation: [{ rights: 'r' }], Patient: [{ rights: 's' }] }, others: [] }]
  assert.is(await status('GET', '/Observation/a'), 200)
  assert.is(await status('GET', '/Observation/a/_history'), 200)
  assert.is(await status('GET', '/Observation'), 403)
  assert.is(await status('GET', '/Observation/_history'), 403)
  assert.is(await status('GET', '/Patient/p1'), 403)
  assert.is(await found('/Patient'), 'p1 p2')
  // What is referred to is read, what refers to a match is found.
  assert.is(await found('/Patient?_revinclude=Observation:subject'), 'p1 p2')
  assert.is(await status('GET', '/Patient?_has:Observation:subject:status=final'), 403)
})

test('what is hidden takes no room on a page from what is included', async () => {
  const entry = Array.from({ length: 2_100 }, () => post({ ...observation('', 'many', 'preliminary'), id: undefined }))
  await clinic.ask('PUT', '/Patient/many', { resourceType: 'Patient', id: 'many' })
  const { status: stored, text } = await clinic.bundle('transaction', entry)
  assert.is(stored, 200, text.slice(0, 300))
  await clinic.ask('PUT', '/Observation/v', observation('v', 'many', 'final'))
  restrictions = [matching('Observation', 'status=final')]
  for (const revinclude of ['Observation:subject', '*'])
    assert.is(await found(`/Patient?_id=many&_revinclude=${revinclude}`), 'many v')
})

test('a chain leads through what may be searched, and where no type may be it is 403', async () => {
  restrictions = [{ types: { Observation: [{ rights: 's' }] }, others: [] }]
  assert.is(await status('GET', '/Observation?subject:Patient._id=p1'), 403)
  assert.is(await status('GET', '/Observation?_filter=subject._id eq p1'), 403)
  restrictions = [onlyTypes('Observation', 'Patient')]
  assert.is(await found('/Observation?subject._id=p1'), 'a d')
})

test('a change shows nothing to a caller without the right to read it', async () => {
  restrictions = [{ types: { Observation: [{ rights: 'cu' }, { rights: 'r', query: 'status=final' }] }, others: [] }]
  const { id: _id, ...fresh } = observation('', 'p1', 'preliminary')
  const hidden = await clinic.ask('POST', '/Observation', fresh, { headers: { prefer: 'return=representation' } })
  assert.equal([hidden.status, hidden.text, hidden.headers.etag], [201, '', 'W/"1"'])
  const shown = await clinic.ask('POST', '/Observation', { ...fresh, status: 'final' })
  assert.equal([shown.status, shown.json.status], [201, 'final'])
  const updated = await clinic.ask('PUT', '/Observation/d', observation('d', 'p1', 'preliminary', { language: 'de' }))
  assert.equal([updated.status, updated.text], [200, ''])
})

test('a patch needs the right to read as well: it can test what is there', async () => {
  restrictions = [{ types: { Observation: [{ rights: 'u' }] }, others: [] }]
  const patch = JSON.stringify([{ op: 'test', path: '/status', value: 'final' }])
  const headers = { 'content-type': 'application/json-patch+json' }
  assert.is((await clinic.ask('PATCH', '/Observation/a', patch, { headers })).status, 403)
})

test('a conditional change needs the right to search', async () => {
  restrictions = [{ types: { Observation: [{ rights: 'cru' }] }, others: [] }]
  assert.is(await status('PUT', '/Observation?_id=a', observation('a', 'p1', 'final')), 403)
  const { id: _id, ...fresh } = observation('', 'p1', 'final')
  const headers = { 'if-none-exist': '_id=a' }
  assert.is((await clinic.ask('POST', '/Observation', fresh, { headers })).status, 403)
})

test('an operation needs what it declares, else r at an instance', async () => {
  restrictions = [{ types: { Observation: [{ rights: 'r' }] }, others: [] }]
  assert.is(await status('POST', '/Observation/a/$touch', { resourceType: 'Parameters' }), 403)
  assert.is(await status('GET', '/Observation/a/$meta'), 200)
  restrictions = [{ types: { Observation: [{ rights: 'u' }] }, others: [] }]
  assert.is(await status('POST', '/Observation/a/$touch', { resourceType: 'Parameters' }), 200)
  assert.is(await status('GET', '/Observation/a/$meta'), 403)
})

test('$meta-add needs the right to update, and says nothing of what is hidden', async () => {
  const meta = { resourceType: 'Parameters', parameter: [{ name: 'meta', valueMeta: { tag: [{ code: 't' }] } }] }
  restrictions = [{ types: { Observation: [{ rights: 'r' }] }, others: [] }]
  assert.is(await status('POST', '/Observation/a/$meta-add', meta), 403)
  restrictions = [matching('Observation', 'status=preliminary')]
  assert.is(await status('POST', '/Observation/a/$meta-add', meta), 404)
})

test('a 403 carries the headers of the restriction that causes it, and of no other', async () => {
  const scoped: Restriction = {
    types: { Observation: [{ rights: 'rs' }, { rights: 'c', query: 'status=final' }] },
    others: [],
    headers: { 'www-authenticate': 'Bearer error="insufficient_scope"' },
  }
  restrictions = [scoped, { ...matching('Observation', 'subject=Patient/p1'), headers: { 'x-consent': 'narrow' } }]
  const { id: _id, ...fresh } = observation('', 'p1', 'preliminary')
  for (const answer of [
    await clinic.ask('GET', '/Patient/p1'),
    await clinic.ask('DELETE', '/Observation/a'),
    await clinic.ask('POST', '/Observation', fresh),
  ]) {
    assert.is(answer.status, 403, answer.text)
    assert.match(answer.headers['www-authenticate'], 'insufficient_scope')
    assert.is(answer.headers['x-consent'], undefined)
  }
})

test('a restriction of kernel API 1, or one whose search cannot be performed, is a 500 for everything', async () => {
  for (const one of [
    { types: ['Observation'] },
    { compartment: p1 },
    matching('Observation', 'no-such-parameter=x'),
    matching('Observation', '&'),
    matching('Observation', '_count=1'),
  ]) {
    restrictions = [one]
    for (const url of ['/Observation/a', '/Observation', '/Observation/_history', '/Observation/a/_history/1'])
      assert.is(await status('GET', url), 500, `${JSON.stringify(one)} ${url}`)
    const entry = [post({ ...observation('', 'p1', 'final'), id: undefined })]
    assert.is((await clinic.bundle('transaction', entry)).status, 500)
    assert.is(await status('DELETE', '/Observation/a'), 500)
  }
  restrictions = []
  assert.is(await status('GET', '/Observation/a'), 200)
})

test('a search that takes other resources decides on current versions only, and on no change', async () => {
  restrictions = [matching('Observation', 'subject:Patient._id=p1')]
  assert.is(await found('/Observation'), 'a d')
  assert.is(await status('GET', '/Observation/a'), 200)
  assert.is(await status('GET', '/Observation/b'), 404)
  for (const id of ['a', 'b', 'never']) assert.is(await status('DELETE', `/Observation/${id}`), 403, id)
})

test('a change goes through by a grant that can be tested, beside one that only the index decides', async () => {
  const indexed = { rights: 'cruds', query: 'subject:Patient.active=true' } as const
  restrictions = [{ types: { Observation: [indexed, { rights: 'cruds', query: 'status=final' }] }, others: [] }]
  assert.is(await status('PUT', '/Observation/a', observation('a', 'p1', 'final', { language: 'en' })), 200)
  const { id: _id, ...fresh } = observation('', 'p1', 'final')
  assert.is(await status('POST', '/Observation', fresh), 201)
  // The old version and the new one have to be allowed.
  assert.is(await status('PUT', '/Observation/a', observation('a', 'p1', 'preliminary')), 403)
  // No testable grant holds: the same answer for what is hidden and for what never was.
  for (const id of ['c', 'd', 'never']) {
    const answer = await clinic.ask('PUT', `/Observation/${id}`, observation(id, 'p1', 'final'))
    assert.is(answer.status, 403, id)
    assert.match(answer.text, /forbidden/)
    assert.is(answer.text, (await clinic.ask('DELETE', '/Observation/never')).text)
  }
  // Every restriction has to let it through.
  restrictions = [...restrictions, matching('Observation', 'subject:Patient.active=true')]
  assert.is(await status('PUT', '/Observation/a', observation('a', 'p1', 'final')), 403)
  restrictions = restrictions.slice(0, 1)
  assert.is(await status('DELETE', '/Observation/a'), 204)
})

test.run()
