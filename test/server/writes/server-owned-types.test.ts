// database: memory
/** Types that the server writes itself: no way of writing them is open to a client, and each attempt is told. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AuditFact, definePlugin } from '../../../kernel/index.ts'
import { Fhir } from '../../../plugins/fhir/service.ts'
import { type Answered, type Clinic, clinicWith, type Json } from './clinic.ts'

const facts: AuditFact[] = []
const owner = definePlugin({
  name: 'owner',
  needs: { fhir: Fhir },
  setup({ needs: { fhir }, hooks }) {
    fhir.ownsType('Basic', 'is written by the tests')
    fhir.operation({
      code: 'write',
      definition: 'http://example.org/OperationDefinition/write',
      documentation: 'Tries to.',
      levels: ['system'],
      parameters: [],
      change: () => ({
        changes: [{ kind: 'create', type: 'Basic', json: '{"resourceType":"Basic"}' }],
        answer: () => ({}),
      }),
    })
    hooks.onAudit.tap('keep', (fact) => void facts.push(fact))
  },
})

let clinic: Clinic
test.before(async () => {
  clinic = await clinicWith({}, [owner])
})
test.after(() => clinic.stop())

const basic = { resourceType: 'Basic', id: 'b' }
const PATCH_TYPE = { headers: { 'content-type': 'application/merge-patch+json' } }
const refused = ({ status, json, headers, text }: Answered): void => {
  assert.is(status, 405, text)
  assert.match(json.issue[0].diagnostics, /Basic is written by the tests/)
  assert.is(headers.allow, 'GET, HEAD')
}
/** The facts of one attempt: kind, type and status. */
const told = (): readonly unknown[] => {
  const list = facts.map(({ interaction: { kind, type }, status }) => [kind, type, status])
  facts.length = 0
  return list
}

test('every single change is 405, conditional or not, and told', async () => {
  const patch = '{"language":"de"}'
  for (const [kind, attempt] of [
    ['create', () => clinic.ask('POST', '/Basic', basic)],
    ['create', () => clinic.ask('POST', '/Basic', basic, { headers: { 'if-none-exist': '_id=x' } })],
    ['update', () => clinic.ask('PUT', '/Basic/b', basic)],
    ['update', () => clinic.ask('PUT', '/Basic?_id=x', basic)],
    ['patch', () => clinic.ask('PATCH', '/Basic/b', patch, PATCH_TYPE)],
    ['patch', () => clinic.ask('PATCH', '/Basic?_id=x', patch, PATCH_TYPE)],
    ['delete', () => clinic.ask('DELETE', '/Basic/b')],
    ['delete', () => clinic.ask('DELETE', '/Basic?_id=x')],
  ] as const) {
    facts.length = 0
    refused(await attempt())
    assert.equal(told(), [[kind, 'Basic', 405]])
  }
})

test('in a batch the entry is refused, in a transaction all of it', async () => {
  const entry = [
    { resource: { resourceType: 'Patient' }, request: { method: 'POST', url: 'Patient' } },
    { resource: basic, request: { method: 'PUT', url: 'Basic/b' } },
  ]
  facts.length = 0
  const batch = await clinic.bundle('batch', entry)
  assert.equal(
    batch.json.entry.map(({ response }: Json) => response.status.slice(0, 3)),
    ['201', '405'],
  )
  assert.ok(told().some((one) => JSON.stringify(one) === '["update","Basic",405]'))
  const before = await clinic.ids('Patient')
  facts.length = 0
  const transaction = await clinic.bundle('transaction', entry)
  refused(transaction)
  assert.is(transaction.json.issue[0].expression[0], 'Bundle.entry[1]')
  assert.ok(told().some((one) => JSON.stringify(one) === '["update","Basic",405]'))
  assert.equal(await clinic.ids('Patient'), before)
})

test('an operation cannot do it either', async () => {
  facts.length = 0
  refused(await clinic.ask('POST', '/$write'))
  assert.equal(told(), [['operation', undefined, 405]])
})

test('it can be read, and /metadata says no more', async () => {
  assert.is((await clinic.ask('GET', '/Basic')).status, 200)
  assert.is((await clinic.ask('GET', '/Basic/b')).status, 404)
  const [rest] = (await clinic.ask('GET', '/metadata')).json.rest
  const of = (type: string): readonly string[] =>
    rest.resource.find((one: Json) => one.type === type).interaction.map(({ code }: Json) => code)
  assert.equal(of('Basic'), ['read', 'vread', 'history-instance', 'history-type', 'search-type'])
  assert.ok(of('Patient').includes('create'))
})

test('two owners of a type stop the start', async () => {
  const twice = definePlugin({
    name: 'twice',
    needs: { fhir: Fhir },
    setup({ needs: { fhir } }) {
      fhir.ownsType('Basic', 'is mine')
      fhir.ownsType('Basic', 'is mine')
    },
  })
  const started = await clinicWith({}, [twice]).catch((error: Error) => error)
  assert.match((started as Error).message, /Basic/)
})

test.run()
