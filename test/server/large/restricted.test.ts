/** A caller with limited access is held to the same limits by large bodies and large resources as by small ones. */
// database: sqlite, because the same limits are tested for small bodies on each kind in test/server/access
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin, type Restriction } from '../../../kernel/index.ts'
import { type Asked, type TwoServers, twoServers } from './two-servers.ts'

type Json = Record<string, unknown>

let restrictions: readonly Restriction[] = []
const gate = definePlugin({
  name: 'gate',
  setup({ hooks }) {
    hooks.authorize.tap('restrict', (_request, _interaction, ruling) => {
      for (const one of restrictions) ruling.restrict(one)
    })
  },
})
/** All rights on observations of Patient/own that are final, and to see them; nothing else. */
const ofOwn: Restriction = {
  types: { Observation: [{ rights: 'cruds', query: 'status=final', compartment: { type: 'Patient', id: 'own' } }] },
  others: [],
}

let servers: TwoServers
const to = (reference: string): Json => ({ reference })
const observation = (more: Json): string =>
  JSON.stringify({
    resourceType: 'Observation',
    status: 'final',
    code: { text: 'x' },
    subject: to('Patient/own'),
    note: Array.from({ length: 20 }, (_, n) => ({ text: `note ${n}` })),
    valueQuantity: { value: 'DIGITS' },
    ...more,
  }).replace('"DIGITS"', '1.00000000000000000001')

const all = async (asked: Asked): Promise<number> => {
  const before = restrictions
  restrictions = []
  const { statusCode } = await servers.both(asked)
  restrictions = before
  return statusCode
}
const put = (id: string, more: Json): Asked => ({
  method: 'PUT',
  url: `/Observation/${id}`,
  payload: observation({ id, ...more }),
})

test.before(async () => {
  servers = await twoServers({ reference_policy: 'strict' }, [gate])
  for (const id of ['own', 'hidden'])
    await all({ method: 'PUT', url: `/Patient/${id}`, payload: JSON.stringify({ resourceType: 'Patient', id }) })
  assert.is(await all(put('mine', {})), 201)
  assert.is(await all(put('theirs', { subject: to('Patient/hidden') })), 201)
  assert.is(await all(put('draft', { status: 'preliminary' })), 201)
})
test.before.each(() => {
  restrictions = [ofOwn]
})
test.after(() => servers.stop())

const status = async (asked: Asked): Promise<number> => (await servers.both(asked)).statusCode
const create = (more: Json): Promise<number> =>
  status({ method: 'POST', url: '/Observation', payload: observation(more), prefer: 'return=representation' })
const patch = (id: string, operations: readonly Json[]): Promise<number> =>
  status({
    method: 'PATCH',
    url: `/Observation/${id}`,
    payload: JSON.stringify(operations),
    type: 'application/json-patch+json',
    prefer: 'return=representation',
  })
const inBundle = async (type: 'batch' | 'transaction', request: Json, more: Json): Promise<string> => {
  const resource = JSON.parse(observation(more))
  const payload = JSON.stringify({ resourceType: 'Bundle', type, entry: [{ resource, request }] })
  const { statusCode, body } = await servers.both({ method: 'POST', url: '/', payload })
  return type === 'transaction' ? String(statusCode) : JSON.parse(body).entry[0].response.status.slice(0, 3)
}

test('a create is taken where the access covers it, and is 403 elsewhere', async () => {
  assert.is(await create({}), 201)
  assert.is(await create({ status: 'preliminary' }), 403)
  assert.is(await create({ subject: to('Patient/hidden') }), 403)
  for (const type of ['batch', 'transaction'] as const) {
    const request = { method: 'POST', url: 'Observation' }
    assert.match(await inBundle(type, request, {}), /^20[01]$/)
    assert.is(await inBundle(type, request, { status: 'preliminary' }), '403')
  }
})

test('an update and a patch are decided on by what is there, then by what they would make of it', async () => {
  const update = async (id: string, more: Json): Promise<number> => status(put(id, more))
  assert.is(await update('mine', { code: { text: 'other' } }), 200)
  assert.is(await update('mine', { status: 'preliminary' }), 403)
  assert.is(await update('draft', {}), 404)
  assert.is(await update('theirs', {}), 404)
  assert.is(await update('nobody', {}), 404)
  assert.is(await patch('mine', [{ op: 'replace', path: '/code/text', value: 'patched' }]), 200)
  assert.is(await patch('mine', [{ op: 'replace', path: '/status', value: 'preliminary' }]), 403)
  assert.is(await patch('mine', [{ op: 'replace', path: '/subject/reference', value: 'Patient/hidden' }]), 403)
  assert.is(await patch('theirs', [{ op: 'test', path: '/status', value: 'final' }]), 404)
  assert.is(await patch('draft', [{ op: 'replace', path: '/status', value: 'final' }]), 404)
  for (const type of ['batch', 'transaction'] as const) {
    const request = { method: 'PUT', url: 'Observation/mine' }
    assert.is(await inBundle(type, request, { id: 'mine', code: { text: type } }), '200')
    assert.is(await inBundle(type, request, { id: 'mine', status: 'preliminary' }), '403')
  }
})

test('a reference to what the caller may not see is 422, wherever it stands', async () => {
  for (const target of ['Observation/theirs', 'Observation/draft', 'Observation/nobody', 'Patient/hidden']) {
    assert.is(await create({ hasMember: [to(target)] }), 422, target)
    assert.is(await create({ extension: [{ url: 'http://example.org/e', valueReference: to(target) }] }), 422, target)
    assert.is(await status(put('mine', { hasMember: [to(target)] })), 422, target)
    assert.is(await patch('mine', [{ op: 'add', path: '/hasMember', value: [to(target)] }]), 422, target)
    for (const type of ['batch', 'transaction'] as const)
      assert.is(
        await inBundle(type, { method: 'POST', url: 'Observation' }, { hasMember: [to(target)] }),
        '422',
        target,
      )
  }
  assert.is(await create({ hasMember: [to('Observation/mine')] }), 201)
})

test('an edit does not fail for a reference that was there before', async () => {
  assert.is(await all(put('old', { hasMember: [to('Observation/theirs')] })), 201)
  assert.is(await status(put('old', { hasMember: [to('Observation/theirs')], code: { text: 'edited' } })), 200)
  assert.is(await patch('old', [{ op: 'replace', path: '/code/text', value: 'again' }]), 200)
  assert.is(await patch('old', [{ op: 'add', path: '/hasMember/-', value: to('Observation/draft') }]), 422)
})

test('a read, a history and a deletion show and take what the access covers', async () => {
  assert.is(await status({ method: 'GET', url: '/Observation/mine' }), 200)
  assert.is(await status({ method: 'GET', url: '/Observation/theirs' }), 404)
  assert.is(await status({ method: 'GET', url: '/Observation/draft/_history/1' }), 404)
  assert.is(await all(put('mine', { status: 'preliminary' })), 200)
  assert.is(await status({ method: 'GET', url: '/Observation/mine' }), 404)
  assert.is(await status({ method: 'GET', url: '/Observation/mine/_history' }), 200)
  assert.is(await status({ method: 'GET', url: '/Observation?_elements=status' }), 200)
  for (const id of ['mine', 'theirs', 'nobody'])
    assert.is(await status({ method: 'DELETE', url: `/Observation/${id}` }), 404)
  assert.is(await all(put('gone', {})), 201)
  assert.is(await status({ method: 'DELETE', url: '/Observation/gone' }), 204)
  restrictions = []
  await servers.sameRows()
})

test.run()
