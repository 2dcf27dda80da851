/** transaction: all entries or none, with the links between them. https://hl7.org/fhir/R4/http.html#transaction */
// npm test: sqlite and postgres, whose statements differ
// memory: reads wait there while a transaction is open
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Answered, type Clinic, clinicWith, del, type Entry, get, type Json, post, put } from './clinic.ts'

let clinic: Clinic
test.before(async () => {
  clinic = await clinicWith()
})
test.after(() => clinic.stop())

const A = 'urn:uuid:0c3151bd-1cbf-4d64-b04d-cd9187a4c6e0'
const B = 'urn:uuid:53fefa32-fcbb-4ff8-8a92-55ee120877b7'
const transact = (entries: readonly Entry[], headers: Record<string, string> = {}): Promise<Answered> =>
  clinic.bundle('transaction', entries, { headers })
const read = async (url: string): Promise<Json> => (await clinic.ask('GET', `/${url}`)).json
const refused = (answer: Answered, status: number, code: string, place: string): void => {
  assert.is(answer.status, status, answer.text)
  const [issue] = answer.json.issue
  assert.is(issue.code, code)
  assert.is(issue.expression[0], place)
}
const located = ({ json }: Answered, at: number): string =>
  json.entry[at].response.location.replace(/\/_history\/.*/, '')

test('each entry is answered in its place, whatever the order of processing', async () => {
  const gone = await clinic.create({ resourceType: 'Patient' })
  const answer = await transact([
    get(`Patient/p-answered`),
    put({ resourceType: 'Patient', id: 'p-answered', active: true }),
    post({ resourceType: 'Observation' }),
    del(`Patient/${gone}`),
  ])
  assert.is(answer.status, 200, answer.text)
  assert.is(answer.headers['content-type'], 'application/fhir+json; charset=utf-8')
  const { resourceType, type, entry } = answer.json
  assert.equal([resourceType, type], ['Bundle', 'transaction-response'])
  assert.equal(
    entry.map(({ response }: Json) => response.status),
    ['200 OK', '201 Created', '201 Created', '204 No Content'],
  )
  assert.is(entry[0].resource.active, true)
  assert.match(entry[0].fullUrl, /\/Patient\/p-answered$/)
  assert.is(entry[1].response.location, 'Patient/p-answered/_history/1')
  assert.is(entry[1].response.etag, 'W/"1"')
  assert.match(entry[1].response.lastModified, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.match(entry[2].response.location, /^Observation\/[0-9a-f-]{36}\/_history\/1$/)
  assert.is(entry[1].resource, undefined)
  assert.is((await clinic.ask('GET', `/Patient/${gone}`)).status, 410)
})

test('resources that point at each other by urn are both stored and linked', async () => {
  const answer = await transact([
    post({ resourceType: 'Patient', link: [{ other: { reference: B }, type: 'seealso' }] }, A),
    post({ resourceType: 'Patient', link: [{ other: { reference: A }, type: 'seealso' }] }, B),
  ])
  const [one, other] = [located(answer, 0), located(answer, 1)]
  assert.is((await read(one)).link[0].other.reference, other)
  assert.is((await read(other)).link[0].other.reference, one)
})

test('a link is replaced wherever R4 says, and every other byte stays as it was sent', async () => {
  const text = `{ "resourceType":"Observation",
    "text":{"status":"generated","div":"<div xmlns=\\"http://www.w3.org/1999/xhtml\\"><a href=\\"${A}\\">p</a></div>"},
    "subject" : {"reference": "${A}", "display":"${A}"},
    "extension":[{"url":"http://example.org/u","valueUri":"${A}"},{"url":"http://example.org/c","valueCanonical":"${A}"}],
    "valueQuantity":{"value":1.00, "code":"${A}"}, "identifier":[{"value":"${A}"}] }`
  const answer = await clinic.ask(
    'POST',
    '/',
    `{"resourceType":"Bundle","type":"transaction","entry":[
      {"fullUrl":"${A}","request":{"method":"POST","url":"Patient"},"resource":{"resourceType":"Patient"}},
      {"resource": ${text} ,"request":{"method":"POST","url":"Observation"}} ]}`,
  )
  const patient = located(answer, 0)
  const stored = (await clinic.ask('GET', `/${located(answer, 1)}`)).text
  const sent = stored.replace(/,"id":"[^"]+","meta":\{[^}]+\}/, '')
  assert.is(
    sent,
    text
      .replace(`"reference": "${A}"`, `"reference": "${patient}"`)
      .replace(`href=\\"${A}`, `href=\\"${patient}`)
      .replace(`"valueUri":"${A}"`, `"valueUri":"${patient}"`),
  )
  const found = await clinic.ask('GET', `/Observation?subject=${patient}`)
  assert.is(found.json.entry.length, 1)
})

test('a patch in a transaction links what the transaction makes', async () => {
  const patching = (id: string, contentType: string, patch: unknown, fullUrl?: string): Entry => ({
    ...(fullUrl === undefined ? {} : { fullUrl }),
    resource: { resourceType: 'Binary', contentType, data: Buffer.from(JSON.stringify(patch)).toString('base64') },
    request: { method: 'PATCH', url: `Observation/${id}` },
  })
  const JSON_PATCH = 'application/json-patch+json'
  const extension = (url: string, value: Json): Json => ({ url: `http://example.org/${url}`, ...value })
  const added = [
    extension('uri', { valueUri: A }),
    extension('uuid', { valueUuid: A }),
    extension('oid', { valueOid: 'urn:oid:1.2.3' }),
    extension('canonical', { valueCanonical: A }),
    extension('text', { valueString: A }),
    extension('reference', { valueReference: { reference: A, display: A } }),
  ]
  const linked = (patient: string): Json[] => [
    { ...added[0], valueUri: patient },
    ...added.slice(1, 5),
    { ...added[5], valueReference: { reference: patient, display: A } },
  ]
  const about = (code: string): Json => ({
    resourceType: 'Observation',
    code: { text: code },
    focus: [{ reference: B }],
  })
  const create = (code: string) => clinic.create(about(code))
  const ids = await Promise.all(['object', 'pointer', 'merge', 'path', 'condition', 'stored'].map(create))
  const [object, pointer, merge, path, condition, stored] = ids as [string, string, string, string, string, string]
  const [one] = await Promise.all([
    clinic.create({ resourceType: 'Patient', identifier: [{ system: 'http://ids', value: 'patched' }] }),
    clinic.ask(
      'PATCH',
      `/Observation/${pointer}`,
      JSON.stringify([{ op: 'add', path: '/subject', value: { reference: B } }]),
      {
        headers: { 'content-type': JSON_PATCH },
      },
    ),
  ])
  const answer = await transact([
    post({ resourceType: 'Patient' }, A),
    patching(object, JSON_PATCH, [
      { op: 'add', path: '/subject', value: { reference: A } },
      { op: 'add', path: '/extension', value: added },
    ]),
    patching(pointer, JSON_PATCH, [{ op: 'replace', path: '/subject/reference', value: A }]),
    patching(merge, 'application/merge-patch+json', { subject: { reference: A }, extension: added }),
    {
      resource: {
        resourceType: 'Parameters',
        parameter: [
          {
            name: 'operation',
            part: [
              { name: 'type', valueCode: 'add' },
              { name: 'path', valueString: 'Observation' },
              { name: 'name', valueString: 'subject' },
              { name: 'value', valueReference: { reference: A } },
            ],
          },
        ],
      },
      request: { method: 'PATCH', url: `Observation/${path}` },
    },
    patching(condition, JSON_PATCH, [
      { op: 'add', path: '/subject', value: { reference: 'Patient?identifier=http://ids|patched' } },
    ]),
    patching(stored, JSON_PATCH, [{ op: 'add', path: '/status', value: 'final' }], B),
  ])
  assert.is(answer.status, 200, answer.text)
  const patient = located(answer, 0)
  const subjects: Json = {}
  for (const id of ids) subjects[id] = (await read(`Observation/${id}`)).subject?.reference
  assert.equal(subjects, {
    [object]: patient,
    [pointer]: patient,
    [merge]: patient,
    [path]: patient,
    [condition]: `Patient/${one}`,
    [stored]: undefined,
  })
  for (const id of [object, merge]) assert.equal((await read(`Observation/${id}`)).extension, linked(patient))
  // What was stored before is none of this transaction's, also where it reads like one of its links.
  for (const id of ids) assert.equal((await read(`Observation/${id}`)).focus, [{ reference: B }], id)
  const nobody = [
    patching(object, JSON_PATCH, [{ op: 'add', path: '/subject', value: { reference: 'Patient?identifier=nobody' } }]),
  ]
  refused(await transact(nobody), 400, 'not-found', 'Bundle.entry[0]')
  for (const type of ['constructor', '__proto__'])
    assert.is((await transact([patching(object, type, [])])).status, 415, type)
})

test('a patch in a transaction links an element also where another one holds the same text', async () => {
  const elsewhere: Readonly<Record<string, Json>> = {
    identifier: { identifier: [{ system: 'urn:ietf:rfc:3986', value: A }] },
    text: { code: { text: A } },
    display: { subject: { reference: 'Patient/other', display: A } },
    // A link of another element, which stays as it is.
    focus: { focus: [{ reference: A }] },
    extension: { extension: [{ url: 'http://example.org/other', valueReference: { reference: A } }] },
    // Large enough for a thread.
    large: { code: { text: A }, note: [{ text: 'x'.repeat(400_000) }] },
  }
  const byText = (patch: unknown, contentType: string): Json => ({
    resourceType: 'Binary',
    contentType,
    data: Buffer.from(JSON.stringify(patch)).toString('base64'),
  })
  const patches: Readonly<Record<string, Json>> = {
    merge: byText({ subject: { reference: A } }, 'application/merge-patch+json'),
    json: byText([{ op: 'add', path: '/subject', value: { reference: A } }], 'application/json-patch+json'),
    path: {
      resourceType: 'Parameters',
      parameter: [
        {
          name: 'operation',
          part: [
            { name: 'type', valueCode: 'replace' },
            { name: 'path', valueString: 'Observation.subject' },
            { name: 'value', valueReference: { reference: A } },
          ],
        },
      ],
    },
  }
  for (const [where, more] of Object.entries(elsewhere))
    for (const [form, resource] of Object.entries(patches)) {
      const id = await clinic.create({
        resourceType: 'Observation',
        subject: { reference: 'Patient/other' },
        code: { text: 'c' },
        ...more,
      })
      const before = await read(`Observation/${id}`)
      const answer = await transact([
        post({ resourceType: 'Patient' }, A),
        { resource, request: { method: 'PATCH', url: `Observation/${id}` } },
      ])
      assert.is(answer.status, 200, `${where} ${form} ${answer.text}`)
      const after = await read(`Observation/${id}`)
      assert.is(after.subject.reference, located(answer, 0), `${where} ${form}`)
      for (const key of Object.keys(more))
        if (key !== 'subject') assert.equal(after[key], before[key], `${where} ${form}`)
    }
})

test('an oid or uuid that reads like a link stays: a reference is no value of these types', async () => {
  const extension = [
    { url: 'http://example.org/uuid', valueUuid: A },
    { url: 'http://example.org/uri', valueUri: A },
  ]
  const answer = await transact([
    post({ resourceType: 'Patient' }, A),
    post({ resourceType: 'Observation', subject: { reference: A }, extension }),
  ])
  const made = await read(located(answer, 1))
  assert.equal(
    [made.subject.reference, made.extension[0].valueUuid, made.extension[1].valueUri],
    [located(answer, 0), A, located(answer, 0)],
  )
})

test('relative and absolute references are resolved against the fullUrl of their own entry', async () => {
  const root = 'http://example.org/fhir'
  const answer = await transact([
    post({ resourceType: 'Patient', id: '23' }, `${root}/Patient/23`),
    post({ resourceType: 'Observation', subject: { reference: 'Patient/23' } }, `${root}/Observation/7`),
    post({ resourceType: 'Observation', subject: { reference: `${root}/Patient/23` } }, A),
    post({ resourceType: 'Observation', subject: { reference: 'Patient/23' } }, B),
    post({ resourceType: 'Observation', subject: { reference: 'Patient/24' } }, `${root}/Observation/8`),
  ])
  const patient = located(answer, 0)
  const subjects = []
  for (const at of [1, 2, 3, 4]) subjects.push((await read(located(answer, at))).subject.reference)
  // An entry known by a urn has no root: its relative references are to this server.
  assert.equal(subjects, [patient, patient, 'Patient/23', 'Patient/24'])
})

test('a reference to a version becomes one to the version that is made, when it is that of the Bundle', async () => {
  const root = 'http://example.org/fhir'
  const answer = await transact([
    post({ resourceType: 'Patient', id: '1', meta: { versionId: '7' } }, `${root}/Patient/1`),
    put({ resourceType: 'Patient', id: 'versioned' }, `${root}/Patient/versioned`),
    post(
      {
        resourceType: 'List',
        entry: [
          { item: { reference: 'Patient/1/_history/7' } },
          { item: { reference: `${root}/Patient/1/_history/6` } },
          { item: { reference: `${root}/Patient/versioned/_history/1` } },
        ],
      },
      `${root}/List/1`,
    ),
  ])
  const { entry } = await read(located(answer, 2))
  assert.equal(
    entry.map(({ item }: Json) => item.reference),
    [`${located(answer, 0)}/_history/1`, `${root}/Patient/1/_history/6`, 'Patient/versioned/_history/1'],
  )
})

test('an update under a urn is linked by its own id', async () => {
  const answer = await transact([
    put({ resourceType: 'Patient', id: 'under-urn' }, A),
    post({ resourceType: 'Observation', subject: { reference: A } }),
  ])
  assert.is((await read(located(answer, 1))).subject.reference, 'Patient/under-urn')
})

test('deletes come first, then creates, then updates, then reads, which see what was written', async () => {
  const id = await clinic.create({ resourceType: 'Patient', identifier: [{ system: 'http://ids', value: 'order' }] })
  const answer = await transact([
    get('Patient?identifier=http://ids|order'),
    get('Basic/ordered/_history'),
    put({ resourceType: 'Basic', id: 'ordered' }),
    post({ resourceType: 'Patient', identifier: [{ system: 'http://ids', value: 'order' }] }, A, {
      ifNoneExist: 'identifier=http://ids|order',
    }),
    del(`Patient/${id}`),
  ])
  assert.is(answer.status, 200, answer.text)
  const { entry } = answer.json
  assert.is(entry[0].resource.entry.length, 1)
  assert.is(`Patient/${entry[0].resource.entry[0].resource.id}`, located(answer, 3))
  assert.is(entry[1].resource.entry.length, 1)
  assert.is(entry[3].response.status, '201 Created')
})

test('one entry that fails fails all, and the outcome names it', async () => {
  const before = await clinic.ids('Basic')
  const missing = [
    post({ resourceType: 'Basic' }),
    put({ resourceType: 'Basic', id: 'never' }),
    post({ resourceType: 'Basic' }),
    get('Basic/missing'),
  ]
  refused(await transact(missing), 404, 'not-found', 'Bundle.entry[3]')
  assert.equal(await clinic.ids('Basic'), before)
  assert.is((await clinic.ask('GET', '/Basic/never/_history')).status, 404)
  refused(
    await transact([post({ resourceType: 'Basic' }), post({ resourceType: 'Patient', id: 'a_b' })]),
    400,
    'value',
    'Bundle.entry[1].resource.id',
  )
  assert.equal(await clinic.ids('Basic'), before)
})

test('conditions of an entry count like the headers they stand for', async () => {
  await clinic.ask('PUT', '/Basic/conditions', { resourceType: 'Basic', id: 'conditions' })
  const update = (request: Json) =>
    transact([put({ resourceType: 'Basic', id: 'conditions', language: 'en' }, undefined, request)])
  refused(await update({ ifMatch: 'W/"7"' }), 412, 'conflict', 'Bundle.entry[0]')
  refused(await update({ ifNoneMatch: '*' }), 412, 'conflict', 'Bundle.entry[0]')
  assert.is((await update({ ifMatch: 'W/"1"' })).json.entry[0].response.etag, 'W/"2"')
  const unchanged = await transact([get('Basic/conditions', { ifNoneMatch: 'W/"2"' })])
  assert.is(unchanged.json.entry[0].response.status, '304 Not Modified')
  assert.is(unchanged.json.entry[0].resource, undefined)
})

test('a resource can be changed once, a fullUrl stands for one entry, a Bundle is no entry', async () => {
  const twice = [put({ resourceType: 'Basic', id: 'twice' }), del('Basic/twice')]
  refused(await transact(twice), 400, 'invalid', 'Bundle.entry[0]')
  const same = [post({ resourceType: 'Basic' }, A), post({ resourceType: 'Basic' }, A)]
  refused(await transact(same), 400, 'invalid', 'Bundle.entry[1].fullUrl')
  const nested = { resourceType: 'Bundle', type: 'collection' }
  refused(await transact([post({ resourceType: 'Basic' }), post(nested)]), 400, 'invalid', 'Bundle.entry[1]')
  const inner = { request: { method: 'POST', url: '' }, resource: { resourceType: 'Basic' } }
  assert.is((await transact([inner])).status, 400)
})

test('reading a resource that is changed is no overlap', async () => {
  const answer = await transact([put({ resourceType: 'Basic', id: 'both' }), get('Basic/both'), get('Basic/both')])
  assert.is(answer.json.entry[2].response.status, '200 OK')
})

test('an entry cannot lead out of the server, nor to what is no FHIR interaction', async () => {
  for (const [url, status] of [
    ['/_audit', 404],
    ['_audit', 404],
    ['/oauth/register', 404],
    ['oauth/register', 404],
    ['http://other/', 400],
    ['http://other/Patient/1', 400],
    ['//other/Patient', 400],
    ['../x', 400],
    ['Patient/../x', 400],
    ['Patient/%2e%2e', 400],
    ['Patient/%zz', 400],
    ['Patient//1', 400],
    ['Patient\\1', 400],
    ['file:///etc/passwd', 400],
    ['$export', 404],
    ['Patient/$export', 404],
    ['Foo/1', 404],
    ['Patient/1/2/3/4/5', 404],
  ] as const) {
    const answer = await transact([get(url)])
    assert.is(answer.status, status, `${url}: ${answer.text}`)
    assert.is(answer.json.issue[0].expression[0], 'Bundle.entry[0]')
  }
  assert.is((await transact([{ request: { method: 'POST', url: 'Patient/1' }, resource: {} }])).status, 405)
})

test('GET metadata is answered as in a batch, beside changes, and other methods of it are refused', async () => {
  const entries = [
    get('metadata'),
    post({ resourceType: 'Basic' }),
    get('metadata/?mode=terminology'),
    { request: { method: 'HEAD', url: '/metadata' } },
    get('metadata?_elements=status'),
  ]
  const answer = await transact(entries)
  assert.is(answer.status, 200, answer.text)
  const batch = await clinic.bundle('batch', entries)
  const shown = ({ json }: Answered): Json[] =>
    json.entry.map(({ resource, response }: Json) => {
      const { id, date, ...rest } = resource ?? {}
      return [response.status, rest]
    })
  assert.equal(shown(answer), shown(batch))
  const [first, made, second, third] = answer.json.entry
  assert.is(first.resource.resourceType, 'CapabilityStatement')
  assert.is(made.response.status, '201 Created')
  assert.is(second.resource.resourceType, 'TerminologyCapabilities')
  assert.is(third.resource, undefined)

  const before = await clinic.ids('Basic')
  const wrong = await transact([post({ resourceType: 'Basic' }), get('metadata?mode=none')])
  refused(wrong, 400, 'value', 'Bundle.entry[1]')
  assert.match(wrong.json.issue[0].diagnostics, /mode/)
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    const entry = { request: { method, url: 'metadata' }, resource: { resourceType: 'Basic' } }
    refused(await transact([post({ resourceType: 'Basic' }), entry]), 405, 'not-supported', 'Bundle.entry[1]')
    const { json } = await clinic.bundle('batch', [entry])
    assert.is(json.entry[0].response.status.slice(0, 3), '405')
  }
  assert.equal(await clinic.ids('Basic'), before)
})

test('what is no batch or transaction is refused, and says what it is', async () => {
  const type = async (body: Json | string): Promise<Answered> => clinic.ask('POST', '/', body)
  for (const body of [
    { resourceType: 'Bundle' },
    { resourceType: 'Bundle', type: 'searchset' },
    { resourceType: 'Bundle', type: 'document' },
    { resourceType: 'Patient' },
    {},
  ]) {
    const answer = await type(body)
    assert.is(answer.status, 400, answer.text)
    assert.is(answer.json.issue[0].code, 'invalid')
  }
  for (const entry of [{}, 'x', [1], [[]], [null]])
    assert.is((await type({ resourceType: 'Bundle', type: 'transaction', entry } as Json)).status, 400)
  for (const entry of [
    {},
    { request: {} },
    { request: { method: 'GET' } },
    { request: { method: 'TRACE', url: 'Patient' } },
    { request: { method: 'POST', url: 'Patient' } },
    { request: { method: 'POST', url: 'Patient' }, resource: [] },
    { request: { method: 'POST', url: 'Patient' }, resource: { resourceType: 'Observation' } },
    { request: { method: 'POST', url: 'Patient', ifNoneExist: 1 }, resource: { resourceType: 'Patient' } },
  ])
    refused(
      await transact([get('Patient'), entry as unknown as Entry]),
      400,
      (await transact([get('Patient'), entry as unknown as Entry])).json.issue[0].code,
      'Bundle.entry[1]',
    )
  assert.is((await transact([])).json.type, 'transaction-response')
  assert.is((await type({ resourceType: 'Bundle', type: 'transaction' })).status, 200)
})

test('10,001 entries are too many', async () => {
  const many = Array.from({ length: 10_001 }, () => get('Patient/x'))
  const answer = await transact(many)
  assert.is(answer.status, 413)
  assert.is(answer.json.issue[0].code, 'too-costly')
})

test('what was sent comes back when it is asked for', async () => {
  const entries = [post({ resourceType: 'Patient', active: true })]
  const whole = await transact(entries, { prefer: 'return=representation' })
  assert.is(whole.json.entry[0].resource.active, true)
  assert.is(whole.json.entry[0].resource.id, located(whole, 0).split('/')[1])
  const outcome = await transact(entries, { prefer: 'return=OperationOutcome' })
  assert.is(outcome.json.entry[0].response.outcome.resourceType, 'OperationOutcome')
})

test('keys and blanks of any spelling lie where they lie', async () => {
  const answer = await clinic.ask(
    'POST',
    '/',
    `{"resourceType":"Bundle","type":"transaction","entry" : [ { "r\\u0065source" : {"resourceType":"Basic"} ,
      "request":{"method":"POST","url":"Basic"}}, {"request":{"url":"Basic/spelt","method":"PUT"},"resource":{"id":"spelt","resourceType":"Basic"}}
    ] , "id":"x"}`,
  )
  assert.is(answer.status, 200, answer.text)
  assert.is((await read('Basic/spelt')).id, 'spelt')
})

test.run()
