/** What the archiver answers to changes, what /metadata says of it, and what stays as it is without it. */
// database: sqlite, because answers are changed when they are made; sdc-archiver/leaks.test.ts is on each kind
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import type { Json } from '../access/worlds.ts'
import { type Archive, archivePlugins, archiveSettings, response, SECRET, toAsk } from './archives.ts'

const TYPE = 'QuestionnaireResponse'

let server: TestServer
let ask: Archive['ask']
test.before(async () => {
  server = await serverWith({
    plugins: archivePlugins,
    settings: archiveSettings({ conformance: { update_as_create: true } }),
  })
  ask = toAsk(server)
  for (const one of [
    { resourceType: 'Patient', id: 'p', active: true },
    { resourceType: 'Encounter', id: 'e', status: 'finished', class: { code: 'AMB' } },
  ])
    assert.is((await ask({ method: 'PUT', url: `/${one.resourceType}/${one.id}`, body: one })).status, 201)
})
test.after(() => server.stop())

test('a create and an update say where it is stored, and show nothing, whatever Prefer asks for', async () => {
  for (const prefer of ['return=representation', 'return=minimal', undefined]) {
    const headers: Record<string, string> = prefer === undefined ? {} : { prefer }
    const created = await ask({ method: 'POST', url: `/${TYPE}`, headers, body: response(undefined) })
    assert.is(created.status, 201, created.text)
    assert.is(created.text, '')
    assert.match(String(created.headers.location), new RegExp(`/${TYPE}/[\\w-]+/_history/1$`))
    assert.is(created.headers.etag, 'W/"1"')
    const [, id] = /QuestionnaireResponse\/([\w-]+)\//.exec(String(created.headers.location)) ?? []
    const url = `/${TYPE}/${id}`
    const updated = await ask({ method: 'PUT', url, headers, body: response(id) })
    assert.equal([updated.status, updated.text, updated.headers.etag], [200, '', 'W/"2"'])
    const again = await ask({ method: 'PUT', url, headers, body: response(id) })
    // A version that stays would say that the content was guessed.
    assert.is(again.headers.etag, 'W/"3"')
    assert.is((await ask({ method: 'GET', url })).status, 403)
  }
})

test('Prefer: return=OperationOutcome gives what the validation says of what was sent', async () => {
  const { status, json } = await ask({
    method: 'POST',
    url: `/${TYPE}`,
    headers: { prefer: 'return=OperationOutcome' },
    body: response(undefined),
  })
  assert.is(status, 201)
  assert.is(json.resourceType, 'OperationOutcome')
  assert.not(JSON.stringify(json).includes(SECRET))
})

test('an update with If-Match takes the version its writer was told of', async () => {
  const url = `/${TYPE}/matched`
  assert.is((await ask({ method: 'PUT', url, body: response('matched') })).status, 201)
  const stale = await ask({ method: 'PUT', url, headers: { 'if-match': 'W/"7"' }, body: response('matched') })
  assert.is(stale.status, 412)
  assert.not(stale.text.includes(SECRET))
  const right = await ask({ method: 'PUT', url, headers: { 'if-match': 'W/"1"' }, body: response('matched') })
  assert.is(right.status, 200)
})

test('what does not validate is refused as everywhere', async () => {
  const { status } = await ask({ method: 'POST', url: `/${TYPE}`, body: response(undefined, { status: 'nonsense' }) })
  assert.is(status, 422)
})

test('a deletion shows the number of the version that it made, and nothing else', async () => {
  assert.is((await ask({ method: 'PUT', url: `/${TYPE}/gone`, body: response('gone') })).status, 201)
  const [there, never] = [
    await ask({ method: 'DELETE', url: `/${TYPE}/gone` }),
    await ask({ method: 'DELETE', url: `/${TYPE}/nobody` }),
  ]
  // What it says is the version that it made: its client may write, and learns by each write whether there was something.
  assert.equal([there.status, there.text, there.headers.etag], [204, '', 'W/"2"'])
  assert.equal([never.status, never.text, never.headers.etag], [204, '', undefined])
})

test('a transaction stores it with what it is about, and shows nothing of it', async () => {
  const { status, json, text } = await ask({
    method: 'POST',
    url: '/',
    headers: { prefer: 'return=representation' },
    body: {
      resourceType: 'Bundle',
      type: 'transaction',
      entry: [
        {
          fullUrl: 'urn:uuid:11111111-1111-4111-8111-111111111111',
          resource: { resourceType: 'Patient', active: true },
          request: { method: 'POST', url: 'Patient' },
        },
        {
          fullUrl: 'urn:uuid:22222222-2222-4222-8222-222222222222',
          resource: response(undefined, { subject: { reference: 'urn:uuid:11111111-1111-4111-8111-111111111111' } }),
          request: { method: 'POST', url: TYPE },
        },
      ],
    },
  })
  assert.is(status, 200, text)
  assert.is(json.entry[0].resource.resourceType, 'Patient')
  assert.is(json.entry[1].resource, undefined)
  assert.match(json.entry[1].response.location, /QuestionnaireResponse\/[\w-]+\/_history\/1$/)
  assert.not(text.includes(SECRET))
})

test('under the policy strict a reference to one is refused, whether it is there or not', async () => {
  const told = async (id: string): Promise<string> => {
    const { status, text } = await ask({
      method: 'POST',
      url: '/Observation',
      body: {
        resourceType: 'Observation',
        status: 'final',
        code: { text: 'x' },
        derivedFrom: [{ reference: `${TYPE}/${id}` }],
      },
    })
    assert.is(status, 422)
    return text.replaceAll(id, 'ID')
  }
  assert.is((await ask({ method: 'PUT', url: `/${TYPE}/named`, body: response('named') })).status, 201)
  assert.is(await told('named'), await told('nobody'))
})

test('a deletion that one stands against does not name it', async () => {
  const answer = await ask({ method: 'DELETE', url: '/Patient/p' })
  assert.is(answer.status, 409)
  assert.not(answer.text.includes(TYPE))
})

test('/metadata lists what callers can do, and no more', async () => {
  const { json } = await ask({ method: 'GET', url: '/metadata' })
  const { resource } = json.rest[0]
  const of = (type: string): Json => resource.find((one: Json) => one.type === type)
  const { interaction, ...more } = of(TYPE)
  assert.equal(
    interaction.map(({ code }: Json) => code),
    ['update', 'delete', 'create'],
  )
  assert.is(more.searchParam, undefined)
  assert.is(more.searchInclude, undefined)
  assert.equal(
    [more.readHistory, more.conditionalCreate, more.conditionalRead, more.conditionalUpdate, more.conditionalDelete],
    [false, false, 'not-supported', false, 'not-supported'],
  )
  const { searchRevInclude, interaction: ofPatient } = of('Patient')
  assert.ok(!searchRevInclude.some((one: string) => one.startsWith(TYPE)))
  assert.is(ofPatient.length, 9)
})

test('without the setting it is read as every other type', async () => {
  const off = await serverWith({
    plugins: archivePlugins,
    settings: archiveSettings({ features: {}, conformance: { update_as_create: true, reference_policy: 'fhir' } }),
  })
  const asking = toAsk(off)
  assert.is((await asking({ method: 'PUT', url: `/${TYPE}/r`, body: response('r') })).json.id, 'r')
  assert.is((await asking({ method: 'GET', url: `/${TYPE}/r` })).status, 200)
  const { json } = await asking({ method: 'GET', url: '/metadata' })
  const { interaction } = json.rest[0].resource.find((one: Json) => one.type === TYPE)
  assert.is(interaction.length, 9)
  await off.stop()
})

test.run()
