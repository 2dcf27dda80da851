/**
 * One dispatcher: whatever is asked, alone, in a batch or in a transaction, every hook and check is called in the same
 * order with the same things.
 */
// memory: reads wait there while a transaction is open
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { defineError, definePlugin, type Interaction } from '../../../kernel/index.ts'
import { Fhir } from '../../../plugins/fhir/service.ts'
import { Validator } from '../../../plugins/validation/service.ts'
import { type Clinic, clinicWith, type Json } from './clinic.ts'

const Refused = defineError('test/refused', 422, 'business-rule', 'Not like this.')
const calls: string[] = []
let refuseAt = ''

const show = ({ kind, type = '-', id, operation }: Interaction): string =>
  [kind, type, id === undefined ? 'no id' : 'id', operation].filter(Boolean).join(' ')
const call = (hook: string, about: string): void => {
  calls.push(`${hook}: ${about}`)
  // A Bundle is ruled on too; here its entries are what is refused.
  if (hook === refuseAt && !/^(batch|transaction)/.test(about)) throw Refused()
}

const validation = definePlugin({
  name: 'validation-stub',
  provides: [Validator],
  setup({ provide }) {
    provide(Validator, {
      validateWrite: (resource, options) => {
        call('validator', `${resource.resourceType}, with text: ${JSON.parse(options?.text ?? '{}').resourceType}`)
        return []
      },
      check: () => [],
      addCheck: () => undefined,
    })
  },
})
const listener = definePlugin({
  name: 'listener',
  needs: { fhir: Fhir },
  setup({ needs: { fhir }, hooks }) {
    fhir.check({
      name: 'listener',
      checkContent: ({ interaction, resource }) => call('examine', `${show(interaction)} ${resource.resourceType}`),
      checkInTransaction: (_request, _transaction, changes) => {
        for (const { interaction, version, written } of changes)
          calls.push(`confirm: ${show(interaction)}, deleted: ${version.deleted}, written: ${written}`)
        return refuseAt === 'confirm' ? changes.map(({ interaction }) => ({ interaction, error: Refused() })) : []
      },
    })
    hooks.authorize.tap('listen', (_request, interaction) => call('authorize', show(interaction)))
    hooks.onWrite.tap('listen', ({ interaction, previous, next, resource, transaction }) => {
      assert.ok(transaction)
      const versions = `${previous?.version ?? '-'} to ${next.version}`
      call('onWrite', `${show(interaction)}, ${versions}, ${resource === undefined ? 'gone' : next.json !== undefined}`)
    })
    hooks.onAudit.tap('listen', ({ interaction, status, version, transaction }) => {
      const inside = transaction === undefined ? 'outside' : 'inside'
      // A fact about an entry of a transaction is told inside of it, reads too.
      const isChange = ['create', 'update', 'patch', 'delete'].includes(interaction.kind)
      calls.push(`onAudit: ${show(interaction)}, ${status}, ${version ?? '-'}${isChange ? `, ${inside}` : ''}`)
    })
    hooks.onCommit.tap('listen', ({ changes }) => {
      for (const { interaction, next } of changes) calls.push(`onCommit: ${show(interaction)}, ${next.version}`)
    })
  },
})

let clinic: Clinic
test.before(async () => {
  clinic = await clinicWith({}, [validation, listener])
})
test.after(() => clinic.stop())
test.after.each(() => {
  refuseAt = ''
})

const S = 'http://hooks'
interface Asked {
  readonly method: string
  readonly url: string
  readonly resource?: Json
  readonly conditions?: Readonly<Record<string, string>>
  /** Of a patch that is sent alone. */
  readonly type?: string
  readonly body?: string
}
const HEADER: Readonly<Record<string, string>> = { ifNoneExist: 'if-none-exist', ifMatch: 'if-match' }

const patch = (url: string, type: string, body: unknown, conditions = {}): Asked => ({
  method: 'PATCH',
  url,
  type,
  body: JSON.stringify(body),
  conditions,
  resource: { resourceType: 'Binary', contentType: type, data: Buffer.from(JSON.stringify(body)).toString('base64') },
})
const PATCH = [{ op: 'add', path: '/active', value: false }]
const label = (code: string): Json => ({
  resourceType: 'Parameters',
  parameter: [{ name: 'meta', valueMeta: { tag: [{ system: S, code }] } }],
})
const patient = (id: string, more: Json = {}): Json => ({
  resourceType: 'Patient',
  identifier: [{ system: S, value: id }],
  ...more,
})

/** Each with a fresh resource `id`, of which there is one version. */
const PATHS: Readonly<Record<string, (id: string) => Asked>> = {
  create: () => ({ method: 'POST', url: 'Patient', resource: { resourceType: 'Patient' } }),
  'create that matches nothing': (id) => ({
    method: 'POST',
    url: 'Patient',
    resource: patient(`${id}-new`),
    conditions: { ifNoneExist: `identifier=${S}|${id}-new` },
  }),
  'create that matches': (id) => ({
    method: 'POST',
    url: 'Patient',
    resource: patient(id),
    conditions: { ifNoneExist: `identifier=${S}|${id}` },
  }),
  update: (id) => ({ method: 'PUT', url: `Patient/${id}`, resource: patient(id, { id }) }),
  'update with If-Match': (id) => ({
    method: 'PUT',
    url: `Patient/${id}`,
    resource: patient(id, { id }),
    conditions: { ifMatch: 'W/"1"' },
  }),
  'update that creates': (id) => ({
    method: 'PUT',
    url: `Patient/${id}-new`,
    resource: patient(id, { id: `${id}-new` }),
  }),
  'update of what matches': (id) => ({
    method: 'PUT',
    url: `Patient?identifier=${S}|${id}`,
    resource: patient(id),
  }),
  'update that matches nothing': (id) => ({
    method: 'PUT',
    url: `Patient?identifier=${S}|${id}-new`,
    resource: patient(`${id}-new`),
  }),
  'JSON Patch': (id) => patch(`Patient/${id}`, 'application/json-patch+json', PATCH),
  'merge patch': (id) => patch(`Patient/${id}`, 'application/merge-patch+json', { active: true }),
  'FHIRPath Patch': (id) => {
    const part = [
      { name: 'type', valueCode: 'delete' },
      { name: 'path', valueString: 'Patient.active' },
    ]
    const resource = { resourceType: 'Parameters', parameter: [{ name: 'operation', part }] }
    return { method: 'PATCH', url: `Patient/${id}`, resource }
  },
  'patch of what matches': (id) => patch(`Patient?identifier=${S}|${id}`, 'application/json-patch+json', PATCH),
  delete: (id) => ({ method: 'DELETE', url: `Patient/${id}` }),
  'delete of what never was': (id) => ({ method: 'DELETE', url: `Patient/${id}-never` }),
  'delete of what matches': (id) => ({ method: 'DELETE', url: `Patient?identifier=${S}|${id}` }),
  'delete that matches nothing': (id) => ({ method: 'DELETE', url: `Patient?identifier=${S}|${id}-none` }),
  read: (id) => ({ method: 'GET', url: `Patient/${id}` }),
  vread: (id) => ({ method: 'GET', url: `Patient/${id}/_history/1` }),
  search: (id) => ({ method: 'GET', url: `Patient?identifier=${S}|${id}` }),
  'history of a resource': (id) => ({ method: 'GET', url: `Patient/${id}/_history` }),
  'operation that answers': (id) => ({ method: 'GET', url: `Patient/${id}/$meta` }),
  'operation that changes': (id) => ({ method: 'POST', url: `Patient/${id}/$meta-add`, resource: label('a') }),
  'operation with nothing to change': (id) => ({
    method: 'POST',
    url: `Patient/${id}/$meta-delete`,
    resource: label('a'),
  }),
}

let last = 0
const fresh = async (): Promise<string> => {
  last += 1
  const id = `hooked-${last}`
  const made = await clinic.ask('PUT', `/Patient/${id}`, patient(id, { id, active: true }))
  assert.is(made.status, 201, made.text)
  calls.length = 0
  return id
}

type Way = 'single' | 'batch' | 'transaction'
/** What was called for one thing asked in one way, and its status. */
const trace = async (way: Way, path: (id: string) => Asked, refuse = ''): Promise<readonly string[]> => {
  const id = await fresh()
  refuseAt = refuse
  const { method, url, resource, conditions = {}, type, body } = path(id)
  let status: string
  if (way === 'single') {
    const headers = Object.fromEntries(Object.entries(conditions).map(([key, value]) => [HEADER[key], value]))
    const answer = await clinic.ask(method, `/${url}`, body ?? resource, {
      headers: type === undefined ? headers : { ...headers, 'content-type': type },
    })
    status = String(answer.status)
  } else {
    const request = { method, url, ...conditions }
    const entry = { request, ...(resource === undefined ? {} : { resource }) }
    const answer = await clinic.bundle(way, [entry])
    status = answer.status === 200 ? answer.json.entry[0].response.status.slice(0, 3) : String(answer.status)
  }
  refuseAt = ''
  return [...calls.filter((one) => !/: (batch|transaction) /.test(one)), `answer: ${status}`]
}

for (const [name, path] of Object.entries(PATHS))
  test(`${name}: the same hooks alone, in a batch and in a transaction`, async () => {
    const single = await trace('single', path)
    assert.ok(single.some((one) => one.startsWith('authorize')))
    assert.ok(single.some((one) => one.startsWith('onAudit')))
    assert.match(single.at(-1) as string, /^answer: 2/)
    assert.equal(await trace('batch', path), single)
    // Where nothing is changed there is no transaction to be in, but that of the Bundle.
    const inTransaction = await trace('transaction', path)
    const isSettled = !single.some((one) => one.startsWith('confirm'))
    assert.equal(
      inTransaction.map((one) => (isSettled ? one.replace(', inside', ', outside') : one)),
      single,
    )
  })

test('a change goes through all of them in order', async () => {
  assert.equal(await trace('single', PATHS.update as never), [
    'authorize: update Patient id',
    'validator: Patient, with text: Patient',
    'examine: update Patient id Patient',
    'confirm: update Patient id, deleted: false, written: true',
    'onWrite: update Patient id, 1 to 2, true',
    'onAudit: update Patient id, 200, 2, inside',
    'onCommit: update Patient id, 2',
    'answer: 200',
  ])
})

for (const hook of ['authorize', 'validator', 'examine', 'confirm', 'onWrite'])
  test(`what ${hook} refuses is refused in every way, told once, and leaves nothing`, async () => {
    let count = (await clinic.ids('Patient')).length
    for (const name of [
      'create',
      'update',
      'JSON Patch',
      'FHIRPath Patch',
      'patch of what matches',
      'operation that changes',
    ]) {
      const path = PATHS[name] as (id: string) => Asked
      for (const way of ['single', 'batch', 'transaction'] as const) {
        const seen = await trace(way, path, hook)
        count += 1 // the one it is about
        const about = `${name} in ${way}: ${seen.join('; ')}`
        assert.is(seen.at(-1), 'answer: 422', about)
        const told = seen.filter((one) => one.startsWith('onAudit') && !/search-type/.test(one))
        assert.is(told.length, 1, about)
        assert.ok(
          told.every((one) => one.includes(', 422')),
          about,
        )
        assert.not.ok(
          seen.some((one) => one.startsWith('onCommit')),
          about,
        )
        assert.is((await clinic.ids('Patient')).length, count, about)
        assert.is((await clinic.ask('GET', `/Patient/hooked-${last}`)).headers.etag, 'W/"1"', about)
      }
    }
  })

test.run()
