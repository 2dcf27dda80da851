/** SearchParameters that cannot be put to work, or not beside others, are refused before they are stored. */
// database: sqlite, because parameters are refused before they are stored; search/client-parameters.test.ts is on each kind
// process: its own, as posting.ts sets up the tests of the file that imports it first.
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { headers, parameter, patient, put, type Resource, send, server } from './posting.ts'

const REFUSED: readonly (readonly [string, Resource, RegExp])[] = [
  ['an expression that cannot be read', { expression: 'Patient.name.(' }, /FHIRPath/],
  ['a function that is none', { expression: 'Patient.name.frobnicate()' }, /frobnicate/],
  [
    'a pattern, which may take for ever',
    { expression: "Patient.name.where(family.matches('(a+)+$')).given" },
    /matches/,
  ],
  ['a walk through the whole tree', { expression: 'Patient.repeat(children())' }, /repeat/],
  ['an element that is not there', { expression: 'Patient.nom' }, /selects nothing in Patient/],
  ['a type that does not fit', { type: 'date' }, /parameter of type date/],
  ['another type’s element', { expression: 'Observation.code' }, /selects nothing in Patient/],
  ['no expression', { expression: undefined }, /no expression/],
  ['an unknown base', { base: ['Patient', 'Pasient'] }, /Pasient/],
  ['type special', { type: 'special' }, /special/],
  ['a code with a dot', { code: 'a.b' }, /a\.b/],
  ['a code of this server', { code: '_id' }, /_id/],
  ['a code a package has', { code: 'gender' }, /gender of Patient is taken by http:\/\/hl7.org\/fhir\/SearchParameter/],
  ['ten thousand brackets', { expression: `${'('.repeat(10_000)}Patient${')'.repeat(10_000)}` }, /nested/],
  ['fifty nested brackets', { expression: `${'('.repeat(50)}Patient.name.suffix${')'.repeat(50)}` }, /nested/],
  ['a composite without components', { type: 'composite', expression: 'Patient' }, /components/],
  [
    'another meaning for what a compartment goes by',
    {
      url: 'http://hl7.org/fhir/SearchParameter/Patient-link',
      code: 'link',
      type: 'reference',
      expression: 'Patient.contact.organization',
    },
    /compartment/,
  ],
]
test('what cannot be put to work is refused before it is stored, and named', async () => {
  for (const [name, given, said] of REFUSED) {
    const answer = await send('PUT', parameter(given))
    assert.is(answer.statusCode, 422, `${name} ${answer.body.slice(0, 300)}`)
    assert.match(
      answer
        .json()
        .issue.map((one: any) => one.diagnostics)
        .join(' '),
      said,
      name,
    )
    assert.match(answer.json().issue[0].expression[0], /^SearchParameter\./, name)
    assert.is((await server.inject('/SearchParameter/suffix')).statusCode, 404, name)
  }
  assert.is((await server.inject('/Patient?gender=male')).statusCode, 200)
  // The same in a transaction: the entry is named, nothing of it is stored.
  const entry = (resource: Resource) => ({
    resource,
    request: { method: 'PUT', url: `${resource.resourceType}/${resource.id}` },
  })
  const bundle = await server.inject({
    method: 'POST',
    url: '/',
    headers,
    payload: JSON.stringify({
      resourceType: 'Bundle',
      type: 'transaction',
      entry: [entry(patient('a')), entry(parameter({ code: 'gender' }))],
    }),
  })
  assert.is(bundle.statusCode, 422, bundle.body)
  assert.match(bundle.body, /Bundle\.entry\[1\]/)
  assert.is((await server.inject('/Patient/a')).statusCode, 404)
})

test('two parameters with one url, or one code on a type, do not go together; on another type they do', async () => {
  await put(parameter())
  const same = await send('PUT', parameter({ id: 'two', code: 'other' }))
  assert.is(same.statusCode, 422)
  assert.match(same.body, /SearchParameter\/suffix has the url/)
  const code = await send('PUT', parameter({ id: 'two', url: 'http://example.org/two' }))
  assert.is(code.statusCode, 422)
  assert.match(code.body, /suffix of Patient is taken by http:\/\/example.org\/suffix/)
  await put(
    parameter({
      id: 'two',
      url: 'http://example.org/two',
      base: ['Practitioner'],
      expression: 'Practitioner.name.suffix',
    }),
  )
  // Many at once: one of them.
  const answers = await Promise.all(
    Array.from({ length: 5 }, (_, at) =>
      send('PUT', parameter({ id: `r${at}`, url: `http://example.org/r${at}`, code: 'raced' })),
    ),
  )
  assert.equal(answers.map(({ statusCode }) => statusCode).sort(), [201, 422, 422, 422, 422])
})

test.run()
