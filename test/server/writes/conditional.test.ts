/** Conditional create, update, delete and read. https://hl7.org/fhir/R4/http.html#ccreate, #cond-update, #cdelete, #cread */
// npm test: sqlite and postgres, whose statements differ
// memory: reads wait there while a transaction is open
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Answered, type Clinic, clinicWith, del, type Entry, type Json, post } from './clinic.ts'

let clinic: Clinic
let multiple: Clinic
test.before(async () => {
  clinic = await clinicWith()
  multiple = await clinicWith({ conformance: { update_as_create: true, conditional_delete: 'multiple' } })
})
test.after(async () => {
  await clinic.stop()
  await multiple.stop()
})

const S = 'http://conditional'
const patient = (value: string, more: Json = {}): Json => ({
  resourceType: 'Patient',
  identifier: [{ system: S, value }],
  ...more,
})
const by = (value: string): string => `identifier=${S}|${value}`
const refused = ({ status, json, text }: Answered, expected: number, code: string): void => {
  assert.is(status, expected, text)
  assert.is(json.issue[0].code, code, text)
}
const counts = (answers: readonly Answered[]): Record<number, number> => {
  const found: Record<number, number> = {}
  for (const { status } of answers) found[status] = (found[status] ?? 0) + 1
  return found
}
const found = async (value: string, where = clinic): Promise<readonly Json[]> =>
  ((await where.ask('GET', `/Patient?${by(value)}`)).json.entry ?? []).map(({ resource }: Json) => resource)

test('If-None-Exist creates once and answers with the one there is, whatever its spelling', async () => {
  const create = (condition: string, body: Json = patient('create')) =>
    clinic.ask('POST', '/Patient', body, { headers: { 'if-none-exist': condition, host: 'here.example.org' } })
  const made = await create(by('create'))
  assert.is(made.status, 201, made.text)
  const spellings = ['', '?', 'Patient?', 'http://here.example.org/Patient?'].map(
    (before) => `${before}${by('create')}`,
  )
  for (const condition of spellings) {
    const again = await create(condition, patient('other'))
    assert.equal([again.status, again.json.id, again.headers.etag], [200, made.json.id, 'W/"1"'])
    assert.match(again.headers.location, new RegExp(`/Patient/${made.json.id}/_history/1$`))
  }
  assert.is((await found('other')).length, 0)
  await clinic.create(patient('create'))
  refused(await create(by('create')), 412, 'multiple-matches')
  for (const condition of ['', '_format=json']) refused(await create(condition), 412, 'required')
  refused(await create('_count=1'), 400, 'not-supported')
  refused(await create('bogus=1'), 400, 'not-supported')
  refused(await create(`http://elsewhere.example.org/Patient?${by('create')}`), 400, 'not-supported')
})

test('what a condition matched is named by Location, ETag and Last-Modified, whatever is shown of it', async () => {
  const id = await clinic.create(patient('where'))
  const patch = JSON.stringify([{ op: 'add', path: '/active', value: true }])
  const patching = { 'content-type': 'application/json-patch+json' }
  const asked: readonly (readonly [string, string, Json | string, Record<string, string>])[] = [
    ['POST', '/Patient', patient('where'), { 'if-none-exist': by('where') }],
    ['PUT', `/Patient?${by('where')}`, patient('where', { gender: 'other' }), {}],
    ['PATCH', `/Patient?${by('where')}`, patch, patching],
  ]
  for (const shown of ['minimal', 'representation', 'OperationOutcome'])
    for (const [method, url, body, headers] of asked) {
      const prefer = `return=${shown}`
      const answer = await clinic.ask(method, url, body, { headers: { ...headers, prefer } })
      assert.is(answer.status, 200, answer.text)
      const current = (await clinic.ask('GET', `/Patient/${id}`)).headers
      const { location, etag } = answer.headers
      assert.match(location, /^http:\/\/[^/]+\/Patient\//)
      assert.is(location.split('/Patient/')[1], `${id}/_history/${/\d+/.exec(current.etag)?.[0]}`)
      assert.equal([etag, answer.headers['last-modified']], [current.etag, current['last-modified']])
      assert.is(shown === 'minimal', answer.text === '')
    }
  for (const kind of ['batch', 'transaction'] as const)
    for (const [method, url, body, headers] of asked) {
      const resource =
        typeof body === 'string'
          ? { resourceType: 'Binary', contentType: 'application/json-patch+json', data: btoa(body) }
          : body
      const condition = headers['if-none-exist']
      const request = { method, url: url.slice(1), ...(condition === undefined ? {} : { ifNoneExist: condition }) }
      const answer = await clinic.bundle(kind, [{ resource, request }])
      const { status, location, etag, lastModified } = answer.json.entry[0].response
      const { meta } = (await clinic.ask('GET', `/Patient/${id}`)).json
      assert.equal(
        [status, location, etag, lastModified],
        ['200 OK', `Patient/${id}/_history/${meta.versionId}`, `W/"${meta.versionId}"`, meta.lastUpdated],
      )
    }
  // By id a client knows where it is, and of what is deleted there is nothing to be found there.
  assert.is((await clinic.ask('PUT', `/Patient/${id}`, patient('where', { id }))).headers.location, undefined)
  const gone = await clinic.ask('DELETE', `/Patient?${by('where')}`)
  assert.is(gone.headers.location, undefined)
  assert.ok(gone.headers.etag)
})

test('of 50 creates with one If-None-Exist one is made, the others answer with it (row 66)', async () => {
  const answers = await Promise.all(
    Array.from({ length: 50 }, () =>
      clinic.ask('POST', '/Patient', patient('fifty'), { headers: { 'if-none-exist': by('fifty') } }),
    ),
  )
  assert.equal(counts(answers), { 200: 49, 201: 1 })
  assert.is(new Set(answers.map(({ json }) => json.id)).size, 1)
  assert.is((await found('fifty')).length, 1)
})

test('a conditional update makes, changes, or refuses', async () => {
  const update = (body: Json, headers = {}) => clinic.ask('PUT', `/Patient?${by('update')}`, body, { headers })
  const made = await update(patient('update'))
  assert.is(made.status, 201)
  const { id } = made.json
  const changed = await update(patient('update', { active: true }))
  assert.equal([changed.status, changed.json.id, changed.json.active, changed.headers.etag], [200, id, true, 'W/"2"'])
  assert.is((await update(patient('update', { id }))).status, 200)
  refused(await update(patient('update', { id: 'another' })), 400, 'invalid')
  refused(await update(patient('update'), { 'if-match': 'W/"1"' }), 412, 'conflict')
  await clinic.create(patient('update'))
  refused(await update(patient('update')), 412, 'multiple-matches')
  const named = await clinic.ask('PUT', `/Patient?${by('named')}`, patient('named', { id: 'named' }))
  assert.equal([named.status, named.json.id], [201, 'named'])
})

test('a conditional update without a match and without an id is a create, update_as_create or not', async () => {
  const strict = await clinicWith({ conformance: { update_as_create: false } })
  assert.is((await strict.ask('PUT', `/Patient?${by('x')}`, patient('x'))).status, 201)
  refused(await strict.ask('PUT', `/Patient?${by('y')}`, patient('y', { id: 'y' })), 405, 'not-supported')
  await strict.stop()
})

test('50 conditional updates at once make one resource with 50 versions', async () => {
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, n) =>
      clinic.ask('PUT', `/Patient?${by('race')}`, patient('race', { name: [{ family: `${n}` }] })),
    ),
  )
  assert.equal(counts(answers), { 200: 49, 201: 1 })
  const [only, ...others] = await found('race')
  assert.equal([others.length, only?.meta.versionId], [0, '50'])
})

test('a conditional delete is about one resource', async () => {
  const remove = (value: string) => clinic.ask('DELETE', `/Patient?${by(value)}`)
  assert.is((await remove('delete')).status, 204)
  const id = await clinic.create(patient('delete'))
  assert.is((await remove('delete')).status, 204)
  assert.is((await clinic.ask('GET', `/Patient/${id}`)).status, 410)
  await clinic.create(patient('delete'))
  await clinic.create(patient('delete'))
  refused(await remove('delete'), 412, 'multiple-matches')
  assert.is((await found('delete')).length, 2)
  refused(await clinic.ask('DELETE', '/Patient'), 412, 'required')
  refused(await clinic.ask('DELETE', '/Patient?_format=json'), 412, 'required')
})

test('a conditional delete takes all that match where that is set, in one transaction', async () => {
  for (let n = 0; n < 5; n += 1) await multiple.create(patient('many'))
  await multiple.create(patient('stays'))
  const told = await multiple.ask('DELETE', `/Patient?${by('many')}`, undefined, {
    headers: { prefer: 'return=OperationOutcome' },
  })
  assert.is(told.status, 200, told.text)
  assert.match(told.json.issue[0].diagnostics, /5 resources of type Patient/)
  assert.is((await found('many', multiple)).length, 0)
  assert.is((await found('stays', multiple)).length, 1)
  for (let n = 0; n < 2; n += 1) await multiple.create(patient('both'))
  const answer = await multiple.bundle('transaction', [del(`Patient?${by('both')}`), post(patient('both'))])
  assert.is(answer.json.entry[0].response.status, '204 No Content', answer.text)
  assert.is((await found('both', multiple)).length, 1)
  refused(await multiple.ask('DELETE', '/Patient'), 412, 'required')
  const [only] = await found('both', multiple)
  const overlap = await multiple.bundle('transaction', [
    del(`Patient?${by('both')}`),
    { resource: only as Json, request: { method: 'PUT', url: `Patient/${only?.id}` } },
  ])
  refused(overlap, 400, 'invalid')
})

test('more than a thousand are not deleted at once', async () => {
  const entry = Array.from({ length: 1_001 }, () => post(patient('crowd')))
  assert.is((await multiple.bundle('transaction', entry)).status, 200)
  refused(await multiple.ask('DELETE', `/Patient?${by('crowd')}`), 413, 'too-costly')
  assert.is((await multiple.ask('GET', `/Patient?${by('crowd')}&_summary=count`)).json.total, 1_001)
})

test('/metadata says what is conditional', async () => {
  const of = async (one: Clinic) => (await one.ask('GET', '/metadata')).json.rest[0].resource[0]
  const { conditionalCreate, conditionalUpdate, conditionalDelete, conditionalRead } = await of(clinic)
  assert.equal(
    [conditionalCreate, conditionalUpdate, conditionalDelete, conditionalRead],
    [true, true, 'single', 'full-support'],
  )
  assert.is((await of(multiple)).conditionalDelete, 'multiple')
})

test('entries of one transaction do not each make what their condition asks for once', async () => {
  const condition = (value: string) => ({ ifNoneExist: by(value) })
  const cases = [
    [post(patient('once'), undefined, condition('once')), post(patient('once'), undefined, condition('once'))],
    [post(patient('once'), undefined, condition('once')), post(patient('once'))],
    [
      post(patient('once'), undefined, { ifNoneExist: 'identifier=once' }),
      { resource: patient('once'), request: { method: 'PUT', url: `Patient?${by('once')}` } },
    ],
  ]
  for (const entries of cases) {
    const answer = await clinic.bundle('transaction', entries)
    refused(answer, 412, 'multiple-matches')
    assert.match(answer.json.issue[0].expression[0], /^Bundle\.entry\[[01]\]$/)
  }
  assert.is((await found('once')).length, 0)
  const different = [post(patient('a1'), undefined, condition('a1')), post(patient('a2'), undefined, condition('a2'))]
  assert.is((await clinic.bundle('transaction', different)).status, 200)
  // In a batch each is by itself: the second finds what the first has made.
  const batch = await clinic.bundle('batch', cases[0] as Entry[])
  assert.equal(batch.json.entry.map(({ response }: Json) => response.status).sort(), ['200 OK', '201 Created'])
})

test('in a Bundle the conditions are those of the entry', async () => {
  const id = await clinic.create(patient('bundle'))
  for (const kind of ['batch', 'transaction'] as const) {
    const answer = await clinic.bundle(kind, [
      post(patient('bundle'), undefined, { ifNoneExist: by('bundle') }),
      { resource: patient(`new-${kind}`), request: { method: 'PUT', url: `Patient?${by(`new-${kind}`)}` } },
      del(`Patient?${by('nobody')}`),
    ])
    assert.equal(
      answer.json.entry.map(({ response }: Json) => response.status),
      ['200 OK', '201 Created', '204 No Content'],
      answer.text,
    )
    assert.is((await clinic.ask('GET', `/Patient/${id}`)).headers.etag, 'W/"1"')
  }
})

test.run()
