/** Parameters without a value are ignored; what is not known is refused, or told. https://hl7.org/fhir/R4/search.html#errors */
// database: sqlite, because parameters are read before anything is asked of the database
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { searchDefinitions } from '../../support/search-definitions.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'

let server: TestServer
const headers = { 'content-type': 'application/fhir+json' }
const form = { 'content-type': 'application/x-www-form-urlencoded' }
const lenient = { prefer: 'handling=lenient' }

interface Searchset {
  readonly entry?: readonly {
    readonly resource: Record<string, unknown> & { readonly issue?: readonly { readonly diagnostics: string }[] }
    readonly search: { readonly mode: string }
  }[]
  readonly link: readonly { readonly relation: string; readonly url: string }[]
}
const matchesOf = ({ entry = [] }: Searchset): readonly Record<string, unknown>[] =>
  entry.filter(({ search }) => search.mode === 'match').map(({ resource }) => resource)
const toldBy = ({ entry = [] }: Searchset): string =>
  entry.flatMap(({ resource: { issue = [] } }) => issue.map(({ diagnostics }) => diagnostics)).join('\n')
const search = async (url: string, more: Record<string, string> = {}): Promise<Searchset> => {
  const answer = await server.inject({ url, headers: more })
  assert.is(answer.statusCode, 200, `${url} ${answer.body}`)
  return answer.json() as Searchset
}

test.before(async () => {
  server = await serverWith({
    plugins: [database, searchDefinitions(), ...fhirPlugins],
    settings: { conformance: { update_as_create: true, conditional_delete: 'multiple' } },
  })
  for (const [id, gender] of [
    ['a', 'male'],
    ['b', 'female'],
  ])
    await server.inject({
      method: 'PUT',
      url: `/Patient/${id}`,
      headers,
      payload: JSON.stringify({
        resourceType: 'Patient',
        id,
        gender,
        name: [{ family: 'F' }],
        deceasedBoolean: false,
      }),
    })
})
test.after(() => server.stop())

const EMPTY = [
  'name',
  'gender',
  'birthdate',
  '_id',
  '_lastUpdated',
  'organization.name',
  'name:exact',
  '_filter',
  '_sort',
  '_count',
  '_include',
  '_elements',
  '_total',
  'nonsense',
]

for (const name of EMPTY)
  test(`an empty ${name} is ignored, and the self link does without it`, async () => {
    const bundle = await search(`/Patient?gender=male&${name}=`)
    assert.equal(
      matchesOf(bundle).map(({ id }) => id),
      ['a'],
    )
    assert.ok(!(bundle.link[0]?.url ?? '').includes(`${name}=&`) && !(bundle.link[0]?.url ?? '').endsWith(`${name}=`))
  })

test('a form with empty fields searches by the others', async () => {
  const answer = await server.inject({
    method: 'POST',
    url: '/Patient/_search?name=',
    headers: form,
    payload: 'gender=female&birthdate=&family=',
  })
  assert.equal(
    matchesOf(answer.json() as Searchset).map(({ id }) => id),
    ['b'],
  )
})

test('a search with nothing but empty parameters finds everything', async () => {
  assert.is(matchesOf(await search('/Patient?name=&gender=')).length, 2)
})

test('an empty value in a conditional change is refused: without it the change would meet others', async () => {
  const payload = JSON.stringify({ resourceType: 'Patient', gender: 'other' })
  for (const query of ['name=', 'gender=male&name=', 'identifier=&gender=male', '_id=']) {
    const remove = await server.inject({ method: 'DELETE', url: `/Patient?${query}` })
    assert.ok(remove.statusCode === 400 || remove.statusCode === 412, `DELETE ${query} ${remove.statusCode}`)
    const update = await server.inject({ method: 'PUT', url: `/Patient?${query}`, headers, payload })
    assert.ok(update.statusCode === 400 || update.statusCode === 412, `PUT ${query} ${update.statusCode}`)
    const create = await server.inject({
      method: 'POST',
      url: '/Patient',
      headers: { ...headers, 'if-none-exist': query },
      payload,
    })
    assert.ok(create.statusCode === 400 || create.statusCode === 412, `POST ${query} ${create.statusCode}`)
  }
  assert.is(matchesOf(await search('/Patient')).length, 2)
})

for (const name of ['_', '__t', 'utm_source', 'cachebuster'])
  test(`${name} is refused like whatever is not known, and passed over when lenient`, async () => {
    const strict = await server.inject(`/Patient?gender=male&${name}=1`)
    assert.is(strict.statusCode, 400)
    assert.match(strict.json().issue[0].diagnostics, `"${name}"`)
    const bundle = await search(`/Patient?gender=male&${name}=1`, lenient)
    assert.is(matchesOf(bundle).length, 1)
    assert.match(toldBy(bundle), `"${name}" was ignored`)
    assert.not.match(bundle.link[0]?.url ?? '', `${name}=1`)
  })

test('a name in _elements that the type does not have is refused by name', async () => {
  for (const url of [
    '/Patient?_elements=gender,nmae',
    '/Patient/a?_elements=gender,nmae',
    '/Patient/a/_history?_elements=nmae',
    '/Patient?_elements=Patient.nmae',
    '/Patient?_elements=Nothing.name',
  ]) {
    const answer = await server.inject(url)
    assert.is(answer.statusCode, 400, url)
    assert.match(
      answer.json().issue[0].diagnostics,
      /"(Patient\.|Nothing\.)?(nmae|name)" of _elements is not known for Patient\. Known are: .*gender/,
      url,
    )
  }
})

test('when lenient it is passed over and told, and the others are shown', async () => {
  const bundle = await search('/Patient?_id=a&_elements=gender,nmae,famly', lenient)
  const [patient] = matchesOf(bundle)
  assert.is(patient?.gender, 'male')
  assert.is(patient?.name, undefined)
  assert.match(toldBy(bundle), '"_elements=nmae" was ignored')
  assert.match(toldBy(bundle), '"_elements=famly" was ignored')
  assert.match(decodeURIComponent(bundle.link[0]?.url ?? ''), '_elements=gender')
  assert.not.match(bundle.link[0]?.url ?? '', 'nmae')
  const read = await server.inject({ url: '/Patient/a?_elements=gender,nmae', headers: lenient })
  assert.is(read.statusCode, 200)
  assert.is(read.json().name, undefined)
})

test('elements of a choice are known by either name, those of another type where it may be included', async () => {
  for (const name of [
    'deceased',
    'deceasedBoolean',
    'Patient.deceased',
    'id',
    'meta',
    'text',
    'extension',
    'name.family',
  ]) {
    const [patient] = matchesOf(await search(`/Patient?_id=a&_elements=${name}`))
    assert.is(patient?.deceasedBoolean, name.includes('deceased') ? false : undefined, name)
  }
  await search('/Patient?_elements=name,code&_revinclude=Observation:subject')
  assert.is((await server.inject('/Patient?_elements=name,code')).statusCode, 400)
})

test.run()
