/** $meta, $meta-add, $meta-delete. https://hl7.org/fhir/R4/resource-operation-meta.html */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin } from '../../../kernel/index.ts'
import { inCompartment } from '../../support/restrictions.ts'
import { type Answered, type Clinic, clinicWith, type Json } from '../writes/clinic.ts'

let clinic: Clinic
let restricted = false
const guard = definePlugin({
  name: 'guard',
  setup({ hooks }) {
    hooks.authorize.tap('restrict', (_request, _interaction, ruling) => {
      if (restricted) ruling.restrict(inCompartment('Patient', 'own'))
    })
  },
})
test.before(async () => {
  clinic = await clinicWith({}, [guard])
})
test.after(() => clinic.stop())
test.after.each(() => {
  restricted = false
})

const T = 'http://tags'
const tag = (code: string, more: Json = {}): Json => ({ system: T, code, ...more })
const labels = (meta: Json): Json => ({
  resourceType: 'Parameters',
  parameter: [{ name: 'meta', valueMeta: meta }],
})
const metaOf = ({ status, json, text }: Answered): Json => {
  assert.is(status, 200, text)
  assert.equal([json.resourceType, json.parameter[0].name], ['Parameters', 'return'])
  return json.parameter[0].valueMeta
}
const stored = async (id: string, meta: Json, type = 'Patient'): Promise<string> => {
  await clinic.ask(
    'PUT',
    `/${type}/${id}`,
    `{"resourceType":"${type}","id":"${id}","meta":${JSON.stringify(meta)},"x":1.00}`,
  )
  return `/${type}/${id}`
}

test('$meta of a resource is its meta', async () => {
  const url = await stored('one', { profile: ['http://p|1'], tag: [tag('a')] })
  const { meta } = (await clinic.ask('GET', url)).json
  assert.equal(metaOf(await clinic.ask('GET', `${url}/$meta`)), meta)
  assert.is((await clinic.ask('GET', '/Patient/missing/$meta')).status, 404)
})

test('$meta-add adds what is not there yet, by system and code, in a new version', async () => {
  const url = await stored('add', { tag: [tag('a', { display: 'A' })] })
  const answer = await clinic.ask(
    'POST',
    `${url}/$meta-add`,
    labels({
      profile: ['http://p', 'http://p'],
      tag: [tag('a', { display: 'B', version: '2' }), tag('b')],
      security: [tag('s')],
    }),
  )
  const meta = metaOf(answer)
  assert.equal(meta.tag, [tag('a', { display: 'A' }), tag('b')])
  assert.equal([meta.profile, meta.security, meta.versionId], [['http://p'], [tag('s')], '2'])
  const read = await clinic.ask('GET', url)
  assert.equal(read.json.meta, meta)
  assert.match(read.text, /"x":1\.00/)
  assert.is((await clinic.ask('GET', `/Patient?_tag=${T}|b`)).json.entry.length, 1)
  const again = metaOf(await clinic.ask('POST', `${url}/$meta-add`, labels({ tag: [tag('b')] })))
  assert.is(again.versionId, '2')
})

test('$meta-delete takes away what is there, and nothing else is wrong', async () => {
  const url = await stored('delete', { profile: ['http://p'], tag: [tag('a', { display: 'A' }), tag('b')] })
  const remove = (meta: Json) => clinic.ask('POST', `${url}/$meta-delete`, labels(meta))
  const meta = metaOf(await remove({ profile: ['http://p'], tag: [tag('a', { version: '9' }), tag('z')] }))
  assert.equal([meta.profile, meta.tag, meta.versionId], [undefined, [tag('b')], '2'])
  assert.is(metaOf(await remove({ tag: [tag('z')] })).versionId, '2')
  assert.is(
    (await clinic.ask('GET', `/Patient?_tag=${T}|a`)).json.entry?.some(
      ({ resource }: Json) => resource.id === 'delete',
    ) ?? false,
    false,
  )
})

test('the labels are needed, by POST, of a resource that is there', async () => {
  const url = await stored('needed', {})
  assert.is((await clinic.ask('GET', `${url}/$meta-add`)).status, 405)
  assert.is((await clinic.ask('POST', `${url}/$meta-add`)).status, 400)
  assert.is((await clinic.ask('POST', `${url}/$meta-add`, labels('x' as never))).status, 400)
  assert.is((await clinic.ask('POST', '/Patient/missing/$meta-add', labels({}))).status, 404)
  await clinic.ask('DELETE', url)
  assert.is((await clinic.ask('POST', `${url}/$meta-add`, labels({ tag: [tag('a')] }))).status, 410)
})

test('50 labels added at the same time are all there', async () => {
  const url = await stored('many', {})
  await Promise.all(
    Array.from({ length: 50 }, (_, n) => clinic.ask('POST', `${url}/$meta-add`, labels({ tag: [tag(`t${n}`)] }))),
  )
  const { meta } = (await clinic.ask('GET', url)).json
  assert.equal([meta.tag.length, meta.versionId], [50, '51'])
})

test('$meta of a type and of all lists each label once, of what is current', async () => {
  for (const n of [1, 2])
    await stored(`l${n}`, { profile: ['http://list'], tag: [tag('list', { display: `${n}` }), tag(`l${n}`)] }, 'Basic')
  await stored('gone', { security: [tag('secret')] }, 'Basic')
  await clinic.ask('DELETE', '/Basic/gone')
  const meta = metaOf(await clinic.ask('GET', '/Basic/$meta'))
  assert.equal(meta.profile, ['http://list'])
  assert.equal(meta.tag.map(({ code }: Json) => code).sort(), ['l1', 'l2', 'list'])
  assert.equal([meta.security, meta.versionId, meta.lastUpdated], [undefined, undefined, undefined])
  const all = metaOf(await clinic.ask('GET', '/$meta'))
  assert.ok(all.tag.some(({ code }: Json) => code === 'b'))
  assert.ok(all.tag.some(({ code }: Json) => code === 'l1'))
  assert.equal(metaOf(await clinic.ask('GET', '/Practitioner/$meta')), {})
})

test('who may see a part cannot ask for the labels of all', async () => {
  const url = await stored('hidden', { tag: [tag('a')] })
  await stored('own', { tag: [tag('a')] })
  restricted = true
  assert.is((await clinic.ask('GET', '/Patient/$meta')).status, 403)
  assert.is((await clinic.ask('GET', `${url}/$meta`)).status, 404)
  assert.is((await clinic.ask('POST', `${url}/$meta-add`, labels({ tag: [tag('b')] }))).status, 404)
  assert.is(metaOf(await clinic.ask('GET', '/Patient/own/$meta')).tag.length, 1)
})

test.run()
