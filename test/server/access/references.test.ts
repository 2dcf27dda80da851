/** reference_policy strict for callers with limited access: what they may name, and what a refused deletion tells. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Caller, definePlugin, type Restriction } from '../../../kernel/index.ts'
import references from '../../../plugins/references/index.ts'
import validation from '../../../plugins/validation/index.ts'
import { type Answered, type Clinic, clinicWith, del, type Json, post, put } from '../writes/clinic.ts'

let restrictions: readonly Restriction[] = []
let caller: Caller | undefined
const gate = definePlugin({
  name: 'gate',
  setup({ hooks }) {
    hooks.authenticate.tap('as told', () => caller)
    hooks.authorize.tap('restrict', (_request, _interaction, ruling) => {
      for (const one of restrictions) ruling.restrict(one)
    })
  },
})

/** Observations of Patient/own, and no right on patients or practitioners at all. */
const ofOwn: Restriction = {
  types: { Observation: [{ rights: 'cruds', compartment: { type: 'Patient', id: 'own' } }] },
  others: [],
}

let clinic: Clinic
test.before(async () => {
  clinic = await clinicWith({}, [gate, references])
  for (const id of ['own', 'hidden'])
    assert.is((await clinic.ask('PUT', `/Patient/${id}`, { resourceType: 'Patient', id })).status, 201)
  for (const id of ['me', 'hidden'])
    assert.is((await clinic.ask('PUT', `/Practitioner/${id}`, { resourceType: 'Practitioner', id })).status, 201)
  await clinic.ask('PUT', '/Observation/hidden', observation({ id: 'hidden', subject: to('Patient/hidden') }))
})
test.before.each(() => {
  restrictions = []
  caller = undefined
})
test.after(() => clinic.stop())

const to = (reference: string): Json => ({ reference })
const observation = (more: Json): Json => ({
  resourceType: 'Observation',
  status: 'final',
  code: { text: 'x' },
  subject: to('Patient/own'),
  ...more,
})
const create = (more: Json): Promise<Answered> => clinic.ask('POST', '/Observation', observation(more))
const refused = ({ status, text, json }: Answered, target: string): void => {
  assert.is(status, 422, text)
  assert.is(json.issue.length, 1)
  assert.equal([json.issue[0].code, json.issue[0].severity], ['not-found', 'error'])
  assert.match(
    json.issue[0].diagnostics,
    `refers to ${target}, which this server does not hold or this access does not cover.`,
  )
}

test('a reference to what the caller may not see is refused like one to nothing, wherever it stands', async () => {
  // Known to the server from a reference of somebody who sees all.
  assert.is((await create({ performer: [to('Practitioner/hidden')] })).status, 201)
  restrictions = [ofOwn]
  for (const target of [
    'Practitioner/hidden',
    'Practitioner/nobody',
    'Observation/hidden',
    'Patient/hidden/_history/1',
  ]) {
    refused(await create({ focus: [to(target)] }), target)
    refused(await create({ extension: [{ url: 'http://example.org/e', valueReference: to(target) }] }), target)
    const entry = [post(observation({ focus: [to(target)] }))]
    assert.is((await clinic.bundle('transaction', entry)).status, 422)
    assert.match((await clinic.bundle('batch', entry)).json.entry[0].response.status, /^422/)
  }
})

test('what the access itself names, its compartment and its user, may be referred to where it exists', async () => {
  restrictions = [ofOwn]
  assert.is((await create({})).status, 201)
  refused(await create({ performer: [to('Practitioner/me')] }), 'Practitioner/me')
  caller = { kind: 'user', user: 'Practitioner/me' }
  assert.is((await create({ performer: [to('Practitioner/me')] })).status, 201)
  caller = { kind: 'user', user: 'Practitioner/gone' }
  refused(await create({ performer: [to('Practitioner/gone')] }), 'Practitioner/gone')
})

test('what may be seen may be referred to, with s or with r, also in the version that was asked for', async () => {
  restrictions = [
    { types: { ...ofOwn.types, Practitioner: [{ rights: 's' }], Patient: [{ rights: 'r' }] }, others: [] },
  ]
  for (const target of ['Practitioner/hidden', 'Patient/hidden', 'Patient/hidden/_history/1'])
    assert.is((await create({ focus: [to(target)] })).status, 201, target)
  refused(await create({ focus: [to('Patient/hidden/_history/2')] }), 'Patient/hidden/_history/2')
})

test('a reference to a type that is not known is refused as one to nothing, also where other types need a search', async () => {
  restrictions = [{ ...ofOwn, types: ofOwn.types, others: [{ rights: 'rs', query: 'gender=male' }] }]
  refused(await create({ focus: [to('Unheard/1')] }), 'Unheard/1')
})

test('an edit keeps references that were there before, and may not add one', async () => {
  const made = await create({ performer: [to('Practitioner/hidden')] })
  const id = made.json.id as string
  restrictions = [ofOwn]
  const edited = observation({ id, performer: [to('Practitioner/hidden')], language: 'en' })
  assert.is((await clinic.ask('PUT', `/Observation/${id}`, edited)).status, 200)
  const patch = JSON.stringify([{ op: 'add', path: '/language', value: 'de' }])
  const headers = { 'content-type': 'application/json-patch+json' }
  assert.is((await clinic.ask('PATCH', `/Observation/${id}`, patch, { headers })).status, 200)
  refused(
    await clinic.ask('PUT', `/Observation/${id}`, { ...edited, focus: [to('Observation/hidden')] }),
    'Observation/hidden',
  )
  const adding = JSON.stringify([{ op: 'add', path: '/focus', value: [to('Observation/hidden')] }])
  refused(await clinic.ask('PATCH', `/Observation/${id}`, adding, { headers }), 'Observation/hidden')
})

test('a resource that is brought back names nothing that was deleted with it', async () => {
  const made = await create({ performer: [to('Practitioner/hidden')] })
  const id = made.json.id as string
  assert.is((await clinic.ask('DELETE', `/Observation/${id}`)).status, 204)
  restrictions = [ofOwn]
  const again = observation({ id, performer: [to('Practitioner/hidden')] })
  refused(await clinic.ask('PUT', `/Observation/${id}`, again), 'Practitioner/hidden')
})

test('entries of a transaction may refer to what it writes itself', async () => {
  restrictions = [ofOwn]
  const [one, other] = [
    'urn:uuid:11111111-1111-4111-8111-111111111111',
    'urn:uuid:22222222-2222-4222-8222-222222222222',
  ]
  const answer = await clinic.bundle('transaction', [
    post(observation({ hasMember: [to(other)] }), one),
    post(observation({}), other),
  ])
  assert.is(answer.status, 200, answer.text)
})

test('a deletion that references stand against tells no types and no numbers', async () => {
  const member = (await create({})).json.id as string
  await clinic.ask('PUT', '/Basic/list', {
    resourceType: 'Basic',
    id: 'list',
    code: { text: 'x' },
    subject: to(`Observation/${member}`),
  })
  const url = `/Observation/${member}`
  assert.match((await clinic.ask('DELETE', url)).json.issue[0].diagnostics, '1 Basic')
  restrictions = [ofOwn]
  const { status, json } = await clinic.ask('DELETE', url)
  assert.is(status, 409)
  assert.is(
    json.issue[0].diagnostics,
    `Observation/${member} cannot be deleted: it is referred to. ` +
      'Delete what refers to it before it, or together with it in one transaction.',
  )
  const again = await clinic.bundle('transaction', [del(url.slice(1))])
  assert.is(again.status, 409)
  assert.not.match(again.text, 'Basic')
})

test('$validate with mode=delete says of a hidden referrer what the deletion says, and no more', async () => {
  const validated = await clinicWith({}, [gate, references, validation])
  try {
    for (const id of ['own', 'alone'])
      assert.is((await validated.ask('PUT', `/Patient/${id}`, { resourceType: 'Patient', id })).status, 201)
    const hidden = observation({ id: 'hidden', subject: to('Patient/own') })
    assert.is((await validated.ask('PUT', '/Observation/hidden', hidden)).status, 201)
    restrictions = [{ types: { Patient: [{ rights: 'rd', query: '_id=own,alone' }] }, others: [] }]
    const rehearsed = await validated.ask('GET', '/Patient/own/$validate?mode=delete')
    assert.is(rehearsed.status, 200)
    const deleted = await validated.ask('DELETE', '/Patient/own')
    assert.is(deleted.status, 409)
    assert.equal(rehearsed.json.issue, deleted.json.issue)
    assert.not.match(rehearsed.text, 'Observation')
    const alone = await validated.ask('GET', '/Patient/alone/$validate?mode=delete')
    assert.is(alone.json.issue[0].code, 'informational')
  } finally {
    await validated.stop()
  }
})

test('a target that is deleted in the same transaction may not be kept either', async () => {
  const target = (await create({})).json.id as string
  const id = (await create({ focus: [to(`Observation/${target}`)] })).json.id as string
  restrictions = [ofOwn]
  const keeping = observation({ id, focus: [to(`Observation/${target}`)], language: 'en' })
  assert.is((await clinic.bundle('transaction', [put(keeping), del(`Observation/${target}`)])).status, 409)
})

test('with reference_policy fhir nothing is looked up: the answer is the same for what is hidden and what never was', async () => {
  const lenient = await clinicWith({ conformance: { update_as_create: true, reference_policy: 'fhir' } }, [
    gate,
    references,
  ])
  try {
    await lenient.ask('PUT', '/Practitioner/hidden', { resourceType: 'Practitioner', id: 'hidden' })
    restrictions = [ofOwn]
    for (const target of ['Practitioner/hidden', 'Practitioner/nobody'])
      assert.is((await lenient.ask('POST', '/Observation', observation({ performer: [to(target)] }))).status, 201)
  } finally {
    restrictions = []
    await lenient.stop()
  }
})

test.run()
