/** A refusal that concerned something hidden says so in the trail, and nowhere else. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin } from '../../../kernel/index.ts'
import references from '../../../plugins/references/index.ts'
import type { TestServer } from '../../support/server-with.ts'
import { type AuditEvent, audited, auditedPlugins, eventsOf, lineOf } from './audited.ts'

let isRestricted = false
const part = definePlugin({
  name: 'part',
  setup({ hooks }) {
    hooks.authorize.tap('restrict', (_request, { kind }, ruling) => {
      if (!isRestricted || kind === 'admin') return
      ruling.restrict({
        types: { Patient: [{ rights: 'cruds', query: 'gender=male' }] },
        others: [{ rights: 'cruds' }],
      })
    })
  },
})

const headers = { 'content-type': 'application/fhir+json' }
const ask = (server: TestServer, method: string, url: string, body?: object) =>
  server.inject({ method: method as 'GET', url, headers, ...(body && { payload: JSON.stringify(body) }) })
const patient = (id: string, gender: string): object => ({ resourceType: 'Patient', id, gender })
const observation = (subject: string): object => ({
  resourceType: 'Observation',
  status: 'final',
  code: { text: 'x' },
  subject: { reference: subject },
})
const batch = (type: string, request: object, resource?: object): object => ({
  resourceType: 'Bundle',
  type,
  entry: [{ request, ...(resource && { resource }) }],
})

const isHidden = ({ entity = [] }: AuditEvent): boolean =>
  entity.some(
    ({ what, detail = [] }) =>
      what?.reference === '#outcome' &&
      detail.some(({ type, valueString }) => type === 'hidden' && valueString === 'true'),
  )

/** What is asked of an id, and the lines of its refusal. */
const ASKED: readonly (readonly [what: string, ask: (server: TestServer, id: string) => Promise<{ body: string }>])[] =
  [
    ['read', (server, id) => ask(server, 'GET', `/Patient/${id}`)],
    ['vread', (server, id) => ask(server, 'GET', `/Patient/${id}/_history/1`)],
    ['history', (server, id) => ask(server, 'GET', `/Patient/${id}/_history`)],
    ['operation', (server, id) => ask(server, 'GET', `/Patient/${id}/$meta`)],
    ['update', (server, id) => ask(server, 'PUT', `/Patient/${id}`, patient(id, 'male'))],
    ['delete', (server, id) => ask(server, 'DELETE', `/Patient/${id}`)],
    ['reference', (server, id) => ask(server, 'POST', '/Observation', observation(`Patient/${id}`))],
    ['batch', (server, id) => ask(server, 'POST', '/', batch('batch', { method: 'GET', url: `Patient/${id}` }))],
    [
      'transaction',
      (server, id) =>
        ask(server, 'POST', '/', batch('transaction', { method: 'PUT', url: `Patient/${id}` }, patient(id, 'male'))),
    ],
  ]

test('the trail tells what is hidden from what was never there, and the answers do not', async () => {
  const server = await audited({
    plugins: [...auditedPlugins, references, part],
    settings: { conformance: { update_as_create: true }, audit: { unattributed_per_second: 0 } },
  })
  for (const id of ['hidden', 'gone'])
    assert.is((await ask(server, 'PUT', `/Patient/${id}`, patient(id, 'female'))).statusCode, 201)
  assert.is((await ask(server, 'DELETE', '/Patient/gone')).statusCode, 204)
  isRestricted = true
  for (const [what, of] of ASKED) {
    const before = (await eventsOf(server, 'outcome=4')).length
    const answers: string[] = []
    for (const id of ['hidden', 'never', 'gone']) answers.push((await of(server, id)).body.replaceAll(id, 'ID'))
    assert.not.match(answers[0] as string, /hidden/)
    const told = (await eventsOf(server, 'outcome=4')).slice(before)
    const plain = (text: string | undefined) => text?.replace(/"id":"[^"]*"/, '')
    assert.is(plain(answers[0]), plain(answers[1]), what)
    const each = told.length / 3
    const marks = [0, 1, 2].map((at) => told.slice(at * each, (at + 1) * each).every(isHidden))
    // A reference to a deletion leads nowhere, whoever writes it.
    assert.equal(marks, [true, false, what !== 'reference'], `${what}: ${told.map(lineOf).join(', ')}`)
  }
  isRestricted = false
  const verdict = await server.inject('/_audit/verify')
  assert.is(verdict.json().ok, true)
  await server.stop()
})

test.run()
