/** Changes that change nothing: no new version, no hooks of a write, and an answer with the version there is. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin } from '../../../kernel/index.ts'
import { Fhir } from '../../../plugins/fhir/service.ts'
import { type Answered, type Clinic, clinicWith, type Json, put } from './clinic.ts'

const calls: string[] = []
const listening = definePlugin({
  name: 'listening',
  needs: { fhir: Fhir },
  setup({ hooks, needs }) {
    needs.fhir.check({
      name: 'listening',
      checkContent: ({ interaction }) => void calls.push(`examine ${interaction.kind}`),
    })
    hooks.onWrite.tap('listening', ({ next }) => void calls.push(`onWrite ${next.version}`))
    hooks.onCommit.tap('listening', ({ changes }) => void calls.push(`onCommit ${changes.length}`))
    hooks.onAudit.tap('listening', ({ interaction, status, version, details }) => {
      calls.push(`onAudit ${interaction.kind} ${status} ${version} ${details?.patients?.().join() ?? ''}`)
    })
  },
})

let clinic: Clinic
test.before(async () => {
  clinic = await clinicWith({}, [listening])
})
test.after(() => clinic.stop())

const versions = async (url: string): Promise<number> => (await clinic.ask('GET', `${url}/_history`)).json.total
const head = ({ status, headers }: Answered) => [status, headers.etag, headers['last-modified']]
const patched = (body: unknown, type = 'application/json-patch+json') => ({
  body: JSON.stringify(body),
  headers: { 'content-type': type },
})

test('an update with the content that is stored makes no version, and says which one there is', async () => {
  const text = '{ "resourceType":"Patient","id":"same", "multipleBirthInteger": 1,\n "active":true }'
  const first = await clinic.ask('PUT', '/Patient/same', text)
  assert.is(first.status, 201)
  calls.length = 0
  const again = await clinic.ask('PUT', '/Patient/same', text)
  assert.equal(head(again), [200, 'W/"1"', first.headers['last-modified']])
  assert.is(again.text, first.text)
  assert.equal(calls, ['examine update', 'onAudit update 200 1 Patient/same'])
  // What was read comes back with the server's own meta.
  assert.equal(head(await clinic.ask('PUT', '/Patient/same', again.text)), [
    200,
    'W/"1"',
    first.headers['last-modified'],
  ])
  const minimal = await clinic.ask('PUT', '/Patient/same', text, { headers: { prefer: 'return=minimal' } })
  assert.equal([...head(minimal), minimal.text], [200, 'W/"1"', first.headers['last-modified'], ''])
  assert.is(await versions('/Patient/same'), 1)
})

test('any other byte of it makes a version: digits, spaces, labels of meta', async () => {
  const observation = (value: string, meta = '') =>
    `{"resourceType":"Observation","id":"bytes"${meta},"valueQuantity":{"value":${value}}}`
  const label = (code: string) => `,"meta":{"tag":[{"code":"${code}"}]}`
  const texts = [
    observation('1.0'),
    observation('1.00'),
    observation(' 1.00'),
    observation('1.00', label('a')),
    observation('1.00', label('b')),
    observation('1.00'),
  ]
  for (const [at, text] of texts.entries())
    for (const status of [at === 0 ? 201 : 200, 200]) {
      const answer = await clinic.ask('PUT', '/Observation/bytes', text)
      assert.equal([answer.status, answer.headers.etag], [status, `W/"${at + 1}"`], text)
    }
})

test('content of any size and packing is compared', async () => {
  for (const length of [0, 10, 100, 500, 1_300, 1_500, 20_000, 300_000]) {
    const id = `size${length}`
    const body = (last: string): Json => ({
      resourceType: 'Patient',
      id,
      text: {
        status: 'generated',
        div: `<div xmlns="http://www.w3.org/1999/xhtml">${'äb'.repeat(length)}${last}</div>`,
      },
    })
    for (const [last, etag] of [
      ['x', 1],
      ['x', 1],
      ['y', 2],
      ['y', 2],
    ] as const)
      assert.is((await clinic.ask('PUT', `/Patient/${id}`, body(last))).headers.etag, `W/"${etag}"`, `${id} ${last}`)
  }
})

test('conditions are checked before it is known that nothing changes', async () => {
  const body = { resourceType: 'Patient', id: 'checked' }
  await clinic.ask('PUT', '/Patient/checked', body)
  const ask = (headers: Record<string, string>) => clinic.ask('PUT', '/Patient/checked', body, { headers })
  assert.equal(head(await ask({ 'if-match': 'W/"1"' })).slice(0, 2), [200, 'W/"1"'])
  assert.is((await ask({ 'if-match': 'W/"2"' })).status, 412)
  assert.is((await ask({ 'if-none-match': '*' })).status, 412)
  const empty = patched([])
  const patch = (match: string) =>
    clinic.ask('PATCH', '/Patient/checked', empty.body, { headers: { ...empty.headers, 'if-match': match } })
  assert.equal(head(await patch('W/"1"')).slice(0, 2), [200, 'W/"1"'])
  assert.is((await patch('W/"2"')).status, 412)
})

test('a deleted resource comes back with the same content as a new version', async () => {
  const body = { resourceType: 'Patient', id: 'back' }
  await clinic.ask('PUT', '/Patient/back', body)
  await clinic.ask('DELETE', '/Patient/back')
  assert.equal(head(await clinic.ask('PUT', '/Patient/back', body)).slice(0, 2), [201, 'W/"3"'])
})

test('a patch that changes nothing makes no version, whatever its form and the spaces of what is stored', async () => {
  const text = '{ "resourceType" : "Patient", "id" : "patched", "active" : true, "name" : [ { "family" : "A" } ] }'
  const made = await clinic.ask('PUT', '/Patient/patched', text)
  const stored = (await clinic.ask('GET', '/Patient/patched')).text
  const replace = (value: boolean) => ({
    resourceType: 'Parameters',
    parameter: [
      {
        name: 'operation',
        part: [
          { name: 'type', valueCode: 'replace' },
          { name: 'path', valueString: 'Patient.active' },
          { name: 'value', valueBoolean: value },
        ],
      },
    ],
  })
  const nothing = [
    patched([]),
    patched([{ op: 'test', path: '/active', value: true }]),
    patched([{ op: 'replace', path: '/active', value: true }]),
    patched({}, 'application/merge-patch+json'),
    patched({ active: true, gender: null }, 'application/merge-patch+json'),
    patched(replace(true), 'application/fhir+json'),
  ]
  for (const { body, headers } of nothing) {
    calls.length = 0
    const answer = await clinic.ask('PATCH', '/Patient/patched', body, { headers })
    assert.equal([...head(answer), answer.text], [200, 'W/"1"', made.headers['last-modified'], stored], body)
    assert.equal(calls, ['onAudit patch 200 1 Patient/patched'], body)
  }
  const something = patched(replace(false), 'application/fhir+json')
  const answer = await clinic.ask('PATCH', '/Patient/patched', something.body, { headers: something.headers })
  assert.is(answer.headers.etag, 'W/"2"')
  assert.is(await versions('/Patient/patched'), 2)
})

test('in Bundles and under conditions it is the same', async () => {
  const body: Json = { resourceType: 'Patient', id: 'bundled', identifier: [{ value: 'bundled' }] }
  await clinic.ask('PUT', '/Patient/bundled', body)
  const conditional = { resource: body, request: { method: 'PUT', url: 'Patient?identifier=bundled' } }
  for (const kind of ['batch', 'transaction'] as const)
    for (const entry of [put(body), conditional]) {
      calls.length = 0
      const { json } = await clinic.bundle(kind, [entry])
      const { status, etag } = json.entry[0].response
      assert.equal([status, etag], ['200 OK', 'W/"1"'])
      assert.not.ok(calls.some((one) => /^on(Write|Commit)/.test(one)))
      assert.ok(calls.includes('onAudit update 200 1 Patient/bundled'))
    }
  const answers = await Promise.all(
    Array.from({ length: 30 }, () => clinic.ask('PUT', '/Patient?identifier=bundled', body)),
  )
  assert.ok(answers.every(({ status, headers }) => status === 200 && headers.etag === 'W/"1"'))
  assert.is(await versions('/Patient/bundled'), 1)
})

test.run()
