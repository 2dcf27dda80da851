/** patch in three forms. https://hl7.org/fhir/R4/http.html#patch, RFC 6902, RFC 7396, https://hl7.org/fhir/R4/fhirpatch.html */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Answered, type Clinic, clinicWith, type Json } from './clinic.ts'

let clinic: Clinic
test.before(async () => {
  clinic = await clinicWith()
})
test.after(() => clinic.stop())

const JSON_PATCH = 'application/json-patch+json'
const MERGE_PATCH = 'application/merge-patch+json'
const FHIR = 'application/fhir+json'
const ACCEPT = 'application/json-patch+json, application/fhir+json, application/fhir+xml, application/merge-patch+json'

let last = 0
/** A resource under an id of its own, from its JSON after the id. */
const stored = async (rest: string, type = 'Patient'): Promise<string> => {
  last += 1
  const url = `/${type}/patch-${last}`
  const made = await clinic.ask('PUT', url, `{"resourceType":"${type}","id":"patch-${last}"${rest}}`)
  assert.is(made.status, 201, made.text)
  return url
}
const patch = (url: string, type: string, body: unknown, headers: Record<string, string> = {}): Promise<Answered> =>
  clinic.ask('PATCH', url, typeof body === 'string' ? body : JSON.stringify(body), {
    headers: { 'content-type': type, ...headers },
  })
/** JSON of a resource behind its meta and id. */
const rest = (text: string): string => text.replace(/^.*?"meta":\{[^}]*\},"id":"[^"]*"/, '').replace(/\}$/, '')
const refused = (answer: Answered, status: number, code: string, words: RegExp): void => {
  assert.is(answer.status, status, answer.text)
  assert.is(answer.json.issue[0].code, code, answer.text)
  assert.match(answer.json.issue[0].diagnostics, words)
}
const op = (...parts: readonly Json[]): Json => ({ name: 'operation', part: parts })
const parts = (type: string, path: string, more: Json = {}): Json[] => [
  { name: 'type', valueCode: type },
  { name: 'path', valueString: path },
  ...Object.entries(more).map(([name, value]) =>
    typeof value === 'number'
      ? { name, valueInteger: value }
      : typeof value === 'string'
        ? { name, valueString: value }
        : { name, ...value },
  ),
]
const pathPatch = (...operations: readonly Json[]): Json => ({ resourceType: 'Parameters', parameter: operations })

test('a JSON Patch makes the next version, and every number it does not touch keeps its digits', async () => {
  const url = await stored(',"active":true,"multipleBirthInteger":1.00,"name":[{"family":"A"},{"family":"B"}]')
  const answer = await patch(url, JSON_PATCH, [
    { op: 'test', path: '/multipleBirthInteger', value: 1 },
    { op: 'test', path: '/name/0', value: { family: 'A' } },
    { op: 'replace', path: '/active', value: false },
    { op: 'add', path: '/name/1', value: { family: 'C' } },
    { op: 'add', path: '/name/-', value: { family: 'D' } },
    { op: 'remove', path: '/name/0' },
    { op: 'copy', from: '/name/0', path: '/name/-' },
    { op: 'move', from: '/name/0', path: '/name/1' },
  ])
  assert.is(answer.status, 200, answer.text)
  assert.is(answer.headers.etag, 'W/"2"')
  assert.is(
    rest(answer.text),
    ',"active":false,"multipleBirthInteger":1.00,"name":[{"family":"B"},{"family":"C"},{"family":"D"},{"family":"C"}]',
  )
  assert.is((await clinic.ask('GET', url)).text, answer.text)
  const { entry } = (await clinic.ask('GET', `${url}/_history`)).json
  assert.is(entry[0].request.method, 'PATCH')
  const exact = await patch(url, JSON_PATCH, '[{"op":"add","path":"/multipleBirthInteger","value":2.50}]')
  assert.match(exact.text, /"multipleBirthInteger":2\.50/)
})

test('an element that a patch takes the last part of goes too', async () => {
  const url = await stored(',"name":[{"family":"A"}],"active":true')
  const answer = await patch(url, JSON_PATCH, [{ op: 'remove', path: '/name/0/family' }])
  assert.is(rest(answer.text), ',"active":true')
})

test('a JSON Patch path with what is no index of a list is refused, and the message says what an index is', async () => {
  const url = await stored(',"name":[{"family":"A"},{"family":"B"}]')
  for (const token of ['01', '00', '1.0', 'a', '-1'])
    for (const operation of [
      { op: 'add', value: { family: 'C' } },
      { op: 'replace', value: { family: 'C' } },
      { op: 'test', value: { family: 'B' } },
      { op: 'remove' },
    ])
      refused(
        await patch(url, JSON_PATCH, [{ ...operation, path: `/name/${token}` }]),
        422,
        'processing',
        /items of a list are 0, 1, 2, without leading zeros/,
      )
})

test('a merge patch replaces, adds and takes away members', async () => {
  const url = await stored(
    ',"active":true,"birthDate":"1970-01-01","maritalStatus":{"text":"x","coding":[{"code":"M"}]}',
  )
  const answer = await patch(
    url,
    MERGE_PATCH,
    '{"active":null,"gender":"male","maritalStatus":{"text":null},"multipleBirthInteger":3.0}',
  )
  assert.is(answer.status, 200, answer.text)
  assert.is(
    rest(answer.text),
    ',"birthDate":"1970-01-01","maritalStatus":{"coding":[{"code":"M"}]},"gender":"male","multipleBirthInteger":3.0',
  )
  const gone = await patch(url, MERGE_PATCH, { maritalStatus: { coding: null } })
  assert.is(gone.json.maritalStatus, undefined)
})

test('a FHIRPath Patch adds, inserts, deletes, replaces and moves', async () => {
  const url = await stored(
    ',"identifier":[{"system":"http://a","value":"1"},{"system":"http://b","value":"2"}],"multipleBirthInteger":1.00,"birthDate":"1970-01-01"',
  )
  const answer = await patch(
    url,
    FHIR,
    pathPatch(
      op(...parts('add', 'Patient', { name: { valueString: 'name' }, value: { valueHumanName: { family: 'A' } } })),
      op(...parts('add', 'Patient.name.first()', { name: 'given', value: { valueString: 'G' } })),
      op(...parts('replace', "Patient.identifier.where(system = 'http://b').value", { value: { valueString: '3' } })),
      op(...parts('insert', 'Patient.identifier', { index: 0, value: { valueIdentifier: { value: '0' } } })),
      op(...parts('move', 'Patient.identifier', { source: 0, destination: 2 })),
      op(...parts('delete', 'Patient.birthDate')),
      op(...parts('delete', 'Patient.photo')),
      op(
        ...parts('add', 'Patient', {
          name: 'contact',
          value: {
            part: [
              { name: 'gender', valueCode: 'male' },
              {
                name: 'name',
                part: [
                  { name: 'given', valueString: 'X' },
                  { name: 'given', valueString: 'Y' },
                ],
              },
            ],
          },
        }),
      ),
    ),
  )
  assert.is(answer.status, 200, answer.text)
  assert.is(
    rest(answer.text),
    ',"identifier":[{"system":"http://a","value":"1"},{"system":"http://b","value":"3"},{"value":"0"}],"multipleBirthInteger":1.00,"name":[{"family":"A","given":["G"]}],"contact":[{"gender":"male","name":{"given":["X","Y"]}}]',
  )
})

test('a choice of types is named without its type, and may change it', async () => {
  const url = await stored(',"code":{"text":"x"},"valueQuantity":{"value":1.0}', 'Observation')
  const replaced = await patch(
    url,
    FHIR,
    pathPatch(
      op(...parts('replace', 'Observation.value.value', { value: { valueDecimal: 2.5 } })),
      op(...parts('replace', 'Observation.value', { value: { valueString: 'two' } })),
      op(...parts('add', 'Observation', { name: 'effective', value: { valueDateTime: '2024' } })),
    ),
  )
  assert.is(replaced.status, 200, replaced.text)
  assert.is(rest(replaced.text), ',"code":{"text":"x"},"valueString":"two","effectiveDateTime":"2024"')
  const twice = op(...parts('add', 'Observation', { name: 'value', value: { valueBoolean: true } }))
  refused(await patch(url, FHIR, pathPatch(twice)), 422, 'processing', /there already/)
  const wrong = op(...parts('replace', 'Observation.value', { value: { valueMoney: {} } }))
  refused(await patch(url, FHIR, pathPatch(wrong)), 422, 'processing', /Money/)
})

test('ids and extensions of primitives stay beside their values', async () => {
  const url = await stored(',"name":[{"given":["A","B"],"_given":[null,{"id":"b"}]}]')
  const answer = await patch(
    url,
    FHIR,
    pathPatch(
      op(...parts('insert', 'Patient.name[0].given', { index: 0, value: { valueString: 'C' } })),
      op(...parts('move', 'Patient.name[0].given', { source: 2, destination: 0 })),
    ),
  )
  assert.is(rest(answer.text), ',"name":[{"given":["B","C","A"],"_given":[{"id":"b"},null,null]}]', answer.text)
  const gone = await patch(url, FHIR, pathPatch(op(...parts('delete', 'Patient.name.given[0]'))))
  assert.is(rest(gone.text), ',"name":[{"given":["C","A"]}]')
})

test('what is the server’s own cannot be patched (row 68)', async () => {
  const url = await stored(',"meta":{"tag":[{"code":"t"}]}')
  for (const path of ['/id', '/resourceType', '/meta/versionId', '/meta/lastUpdated', '/id/x'])
    for (const operation of [
      { op: 'replace', path, value: 'x' },
      { op: 'remove', path },
      { op: 'move', from: path, path: '/active' },
    ])
      refused(await patch(url, JSON_PATCH, [operation]), 422, 'business-rule', /server’s/)
  for (const body of [
    [{ op: 'replace', path: '/meta', value: { versionId: '7' } }],
    [{ op: 'add', path: '', value: { resourceType: 'Patient', id: 'other' } }],
    [{ op: 'add', path: '', value: { resourceType: 'Basic', id: url.slice(9) } }],
  ])
    refused(await patch(url, JSON_PATCH, body), 422, 'business-rule', /server’s/)
  for (const body of [{ id: 'x' }, { id: null }, { resourceType: 'Basic' }, { meta: { versionId: '3' } }])
    refused(await patch(url, MERGE_PATCH, body), 422, 'business-rule', /server’s/)
  for (const path of ['Patient.id', 'Patient.meta.versionId', 'Patient.meta.lastUpdated'])
    for (const one of [op(...parts('delete', path)), op(...parts('replace', path, { value: { valueId: 'x' } }))])
      refused(await patch(url, FHIR, pathPatch(one)), 422, 'business-rule', /server’s/)
  const kept = await patch(url, JSON_PATCH, [
    { op: 'test', path: '/id', value: url.slice(9) },
    { op: 'add', path: '/meta/tag/-', value: { code: 'u' } },
  ])
  assert.equal([kept.status, kept.json.meta.tag.length, kept.json.meta.versionId], [200, 2, '2'])
  const whole = await patch(url, MERGE_PATCH, { meta: null })
  assert.equal([whole.json.meta.tag, whole.json.meta.versionId], [undefined, '3'])
})

test('a JSON Patch that cannot be applied changes nothing (row 68)', async () => {
  const url = await stored(',"name":[{"family":"A"}],"active":true')
  for (const operation of [
    { op: 'test', path: '/active', value: 'x' },
    { op: 'test', path: '/missing', value: 1 },
    { op: 'remove', path: '/missing' },
    { op: 'remove', path: '' },
    { op: 'replace', path: '/missing', value: 1 },
    { op: 'replace', path: '/name/1', value: {} },
    { op: 'add', path: '/missing/x', value: 1 },
    { op: 'add', path: '/name/2', value: {} },
    { op: 'add', path: '/name/01', value: {} },
    { op: 'add', path: '/active/x', value: 1 },
    { op: 'add', path: '/name/length', value: 0 },
    { op: 'move', from: '/name', path: '/name/0' },
    { op: 'copy', from: '/missing', path: '/x' },
    { op: 'add', path: '/__proto__', value: {} },
    { op: 'add', path: '/__proto__/x', value: 1 },
    { op: 'add', path: '/constructor/prototype/x', value: 1 },
    { op: 'replace', path: '/toString', value: 1 },
  ])
    refused(
      await patch(url, JSON_PATCH, [{ op: 'replace', path: '/active', value: false }, operation]),
      422,
      'processing',
      /1/,
    )
  assert.is(({} as Json).x, undefined)
  for (const body of [
    {},
    [1],
    [{}],
    [{ op: 'bogus', path: '/x' }],
    [{ op: 'add', path: '/x' }],
    [{ op: 'add', value: 1 }],
    [{ op: 'add', path: 'x', value: 1 }],
    [{ op: 'add', path: '/~2', value: 1 }],
    [{ op: 'move', path: '/x' }],
  ])
    refused(await patch(url, JSON_PATCH, body), 400, 'structure', /patch/)
  refused(await patch(url, JSON_PATCH, '[{"op":"add","op":"remove","path":"/x"}]'), 400, 'structure', /"op"/)
  refused(
    await patch(url, JSON_PATCH, '[{"op":"add","path":"/x","value":{"__proto__":1}}]'),
    400,
    'structure',
    /__proto__/,
  )
  refused(await patch(url, JSON_PATCH, '['), 400, 'structure', /JSON/)
  assert.is((await clinic.ask('GET', url)).headers.etag, 'W/"1"')
})

test('a patch is bounded in operations and in what it makes (row 68)', async () => {
  const url = await stored(',"active":true')
  const many = Array.from({ length: 10_000 }, () => ({ op: 'test', path: '/active', value: true }))
  refused(await patch(url, JSON_PATCH, many), 413, 'too-costly', /10000/)
  const operations = Array.from({ length: 10_000 }, () => op(...parts('delete', 'Patient.photo')))
  refused(await patch(url, FHIR, pathPatch(...operations)), 413, 'too-costly', /10000/)
  const double = [
    { op: 'add', path: '/x', value: ['x'.repeat(100)] },
    ...Array.from({ length: 30 }, () => ({ op: 'copy', from: '/x', path: '/x/-' })),
  ]
  refused(await patch(url, JSON_PATCH, double), 413, 'too-costly', /copies/)
  const names = Array.from({ length: 20_000 }, (_, n) => `{"family":"${n}"}`).join(',')
  const wide = await stored(`,"name":[${names}]`)
  const either = Array.from({ length: 20 }, (_, n) => `family = 'x${n}'`).join(' or ')
  const looking = Array.from({ length: 1_000 }, () => op(...parts('delete', `Patient.name.where(${either})`)))
  refused(await patch(wide, FHIR, pathPatch(...looking)), 413, 'too-costly', /too many elements/)
})

test('a FHIRPath Patch that cannot be applied changes nothing', async () => {
  const url = await stored(',"name":[{"family":"A","given":["x"]},{"family":"B"}],"active":true')
  const value = { valueString: 'x' }
  for (const [one, words] of [
    [parts('replace', 'Patient.photo', { value }), /no such element/],
    [parts('replace', 'Patient.name.family', { value }), /several/],
    [parts('delete', 'Patient.name'), /several/],
    [parts('delete', 'Patient'), /whole/],
    [parts('add', 'Patient', { name: 'active', value: { valueBoolean: false } }), /already/],
    [parts('add', 'Patient', { name: 'bogus', value }), /bogus/],
    [parts('add', 'Patient.active', { name: 'x', value }), /no parts/],
    [parts('add', 'Patient.photo', { name: 'title', value }), /no such/],
    [parts('insert', 'Patient.name', { index: 3, value: { valueHumanName: {} } }), /2 items/],
    [parts('insert', 'Patient.active', { index: 0, value }), /repeat/],
    [parts('insert', 'Patient.name[0]', { index: 0, value }), /list/],
    [parts('move', 'Patient.name', { source: 2, destination: 0 }), /2 items/],
    [parts('delete', 'Observation.name'), /Patient/],
    [parts('delete', "Patient.name.matches('(a+)+$')"), /path/],
    [parts('delete', 'Patient.name['), /path/],
    [parts('delete', 'Patient.repeat(name)'), /path/],
  ] as const)
    refused(await patch(url, FHIR, pathPatch(op(...one))), 422, 'processing', words)
  for (const body of [
    { resourceType: 'Patient' },
    { resourceType: 'Parameters', parameter: 'x' },
    { resourceType: 'Parameters', parameter: [{ name: 'other' }] },
    pathPatch({ name: 'operation', part: [{ name: 'type', valueCode: 'bogus' }] }),
    pathPatch(op({ name: 'type', valueCode: 'add' })),
    pathPatch(op(...parts('delete', 'Patient.name', { bogus: 1 }))),
    pathPatch(op(...parts('insert', 'Patient.name', { index: 'x', value }))),
  ])
    refused(await patch(url, FHIR, body), 400, 'structure', /patch/)
  assert.is((await clinic.ask('GET', url)).headers.etag, 'W/"1"')
})

test('conditions, absence and media types answer as they do for an update', async () => {
  const url = await stored(',"active":true')
  const body = [{ op: 'replace', path: '/active', value: false }]
  refused(await patch(url, JSON_PATCH, body, { 'if-match': 'W/"2"' }), 412, 'conflict', /version/)
  const failing = [{ op: 'test', path: '/active', value: 'x' }]
  refused(await patch(url, JSON_PATCH, failing, { 'if-match': 'W/"2"' }), 412, 'conflict', /version/)
  assert.is((await patch(url, JSON_PATCH, body, { 'if-match': 'W/"1"' })).status, 200)
  assert.is((await patch(url, JSON_PATCH, body, { prefer: 'return=minimal' })).text, '')
  refused(await patch('/Patient/missing', JSON_PATCH, body), 404, 'not-found', /missing/)
  refused(await patch('/Foo/1', JSON_PATCH, body), 404, 'not-supported', /Foo/)
  // JSON alone could be any of the three forms.
  const plain = ['application/json', 'application/json; charset=utf-8', 'text/json']
  const types = ['application/xml-patch+xml', 'text/plain', 'application/json-patch+json; charset=utf-16', ...plain]
  for (const type of types) {
    const answer = await patch(url, type, body)
    refused(
      answer,
      415,
      'not-supported',
      /application\/json-patch\+json.*application\/merge-patch\+json.*application\/fhir\+json/,
    )
    assert.is(answer.headers['accept-patch'], ACCEPT)
  }
  for (const type of plain) {
    refused(await patch(url, type, { active: true }), 415, 'not-supported', /merge-patch/)
    const parameters = pathPatch(op(...parts('replace', 'Patient.active'), { name: 'value', valueBoolean: false }))
    assert.is((await patch(url, type, parameters)).status, 200)
  }
  assert.is((await clinic.ask('OPTIONS', url)).headers['accept-patch'], ACCEPT)
  await clinic.ask('DELETE', url)
  refused(await patch(url, JSON_PATCH, body), 410, 'deleted', /deleted/)
})

test('a conditional patch changes the one that matches', async () => {
  const body = [{ op: 'add', path: '/active', value: true }]
  const by = (value: string, headers = {}) => patch(`/Patient?identifier=http://cp|${value}`, JSON_PATCH, body, headers)
  refused(await by('one'), 404, 'not-found', /matches/)
  const url = await stored(',"identifier":[{"system":"http://cp","value":"one"}]')
  const done = await by('one')
  assert.equal([done.status, done.json.id, done.json.active], [200, url.slice(9), true], done.text)
  refused(await by('one', { 'if-match': 'W/"1"' }), 412, 'conflict', /version/)
  await stored(',"identifier":[{"system":"http://cp","value":"one"}]')
  refused(await by('one'), 412, 'multiple-matches', /Several/)
  refused(await patch('/Patient', JSON_PATCH, body), 412, 'required', /search parameters/)
})

test('in a Bundle a patch is a Binary or Parameters', async () => {
  const urls = [await stored(',"active":true'), await stored(',"active":true'), await stored(',"active":true')]
  const binary = (contentType: string, body: unknown): Json => ({
    resourceType: 'Binary',
    contentType,
    data: Buffer.from(JSON.stringify(body)).toString('base64'),
  })
  for (const kind of ['transaction', 'batch'] as const) {
    const active = kind === 'batch'
    const entry = [
      binary(JSON_PATCH, [{ op: 'replace', path: '/active', value: active }]),
      binary(MERGE_PATCH, { active }),
      pathPatch(op(...parts('replace', 'Patient.active', { value: { valueBoolean: active } }))),
    ].map((resource, at) => ({ resource, request: { method: 'PATCH', url: urls[at]?.slice(1) as string } }))
    const answer = await clinic.bundle(kind, entry)
    assert.is(answer.status, 200, answer.text)
    assert.equal(
      answer.json.entry.map(({ response }: Json) => response.status),
      ['200 OK', '200 OK', '200 OK'],
      answer.text,
    )
    for (const url of urls) assert.is((await clinic.ask('GET', url)).json.active, active)
  }
  const bad = await clinic.bundle('transaction', [
    { resource: { resourceType: 'Basic' }, request: { method: 'POST', url: 'Basic' } },
    {
      resource: binary(JSON_PATCH, [{ op: 'remove', path: '/x' }]),
      request: { method: 'PATCH', url: urls[0]?.slice(1) },
    },
  ])
  refused(bad, 422, 'processing', /"\/x"/)
  assert.is(bad.json.issue[0].expression[0], 'Bundle.entry[1]')
  const stale = { method: 'PATCH', url: urls[0]?.slice(1), ifMatch: 'W/"1"' }
  refused(
    await clinic.bundle('transaction', [{ resource: binary(MERGE_PATCH, {}), request: stale }]),
    412,
    'conflict',
    /W?/,
  )
  for (const resource of [{ resourceType: 'Binary' }, { resourceType: 'Binary', contentType: JSON_PATCH }]) {
    const answer = await clinic.bundle('transaction', [
      { resource, request: { method: 'PATCH', url: urls[0]?.slice(1) } },
    ])
    assert.ok(answer.status === 400 || answer.status === 415, answer.text)
  }
})

test('50 patches of one resource at the same time are all in it', async () => {
  const url = await stored(',"active":true')
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, n) => {
      const value = { family: `F${n}` }
      if (n % 2 === 0)
        return patch(
          url,
          FHIR,
          pathPatch(op(...parts('add', 'Patient', { name: 'name', value: { valueHumanName: value } }))),
        )
      return patch(url, JSON_PATCH, [
        { op: 'add', path: `/extension${n === 1 ? '' : '/-'}`, value: n === 1 ? [] : {} },
      ]).then(() => patch(url, MERGE_PATCH, { [`member${n}`]: n }))
    }),
  )
  assert.ok(
    answers.every(({ status }) => status === 200),
    answers.map(({ status }) => status).join(' '),
  )
  const { name, ...others } = (await clinic.ask('GET', url)).json
  assert.is(new Set(name.map(({ family }: Json) => family)).size, 25)
  assert.is(Object.keys(others).filter((key) => key.startsWith('member')).length, 25)
})

test('/metadata lists patch and its formats', async () => {
  const statement = (await clinic.ask('GET', '/metadata')).json
  assert.equal(statement.patchFormat, ACCEPT.split(', '))
  assert.ok(statement.rest[0].resource[0].interaction.some(({ code }: Json) => code === 'patch'))
})

test('an empty body is told what a patch may be', async () => {
  const url = await stored('')
  for (const type of [JSON_PATCH, MERGE_PATCH, FHIR])
    refused(await patch(url, type, ''), 400, 'structure', /send a JSON Patch, a JSON Merge Patch or a FHIRPath Patch/)
})

test.run()
