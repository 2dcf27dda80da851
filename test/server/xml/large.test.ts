/** Large XML is converted by a thread: the same answers, the same stored JSON, and no long turn of the main thread. */
// database: sqlite, because XML is made JSON before anything is asked of the database
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin, type Restriction } from '../../../kernel/index.ts'
import audit from '../../../plugins/audit/index.ts'
import database from '../../../plugins/database/index.ts'
import validation from '../../../plugins/validation/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { inCompartment, onlyTypes } from '../../support/restrictions.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'
import { createXmlClient, resource, type XmlClient, xml } from '../../support/xml-client.ts'

let restrictions: readonly Restriction[] = []
const gate = definePlugin({
  name: 'gate',
  setup({ hooks }) {
    hooks.authorize.tap('restrict', (_request, _interaction, ruling) => {
      for (const one of restrictions) ruling.restrict(one)
    })
  },
})

/** Everything is large to the one, nothing to the other. */
const servers: TestServer[] = []
const clients: XmlClient[] = []
test.before(async () => {
  for (const large_body_bytes of [0, 1024 * 1024 * 1024]) {
    const server = await serverWith({
      plugins: [database, stubDefinitions('all'), validation, ...fhirPlugins, audit, gate],
      settings: { fhir: { large_body_bytes }, conformance: { update_as_create: true } },
    })
    servers.push(server)
    clients.push(createXmlClient(server))
  }
})
test.after(async () => {
  for (const server of servers) await server.stop()
})

const TIME = /\d{4}-\d\d-\d\dT[\d:.]+Z|[0-9a-f]{8}-[0-9a-f-]{27}/g
/** Asks both, whose answers have to be the same but for times and ids of Bundles. */
const both = async (...asked: Parameters<XmlClient['send']>) => {
  const [one, other] = await Promise.all(clients.map((client) => client.send(...asked)))
  const about = `${asked[0]} ${asked[1]}`
  assert.is(one?.status, other?.status, `${about} ${one?.text.slice(0, 500)} ${other?.text.slice(0, 500)}`)
  assert.is(one?.text.replace(TIME, 'T'), other?.text.replace(TIME, 'T'), about)
  return one as NonNullable<typeof one>
}
const stored = async (url: string): Promise<readonly string[]> =>
  Promise.all(servers.map(async (server) => (await server.inject(url)).body.replace(TIME, 'T')))

const narrative = `<text><status value="generated"/><div xmlns="http://www.w3.org/1999/xhtml">${'<p>ä &amp; b</p>'.repeat(50)}</div></text>`
const observation = (id: string, subject: string, more = ''): string =>
  resource(
    'Observation',
    `${xml('id', id)}${narrative}${xml('status', 'final')}<code>${xml('text', 'x')}</code><subject>${xml('reference', subject)}</subject>${more}<valueQuantity>${xml('value', '1.00')}</valueQuantity>`,
  )

test('writes, reads, searches, Bundles and errors are the same on both ways', async () => {
  for (const id of ['own', 'other']) {
    assert.is((await both('PUT', `/Patient/${id}`, resource('Patient', xml('id', id) + narrative))).status, 201)
    assert.is((await both('PUT', `/Observation/of-${id}`, observation(`of-${id}`, `Patient/${id}`))).status, 201)
  }
  assert.is((await both('PUT', '/Observation/o', observation('o', 'Patient/own'))).status, 201)
  const [one, other] = await stored('/Observation/o')
  assert.is(one, other)
  assert.match(one ?? '', '"value":1.00')
  for (const url of [
    '/Observation/o',
    '/Observation/o?_pretty=true',
    '/Observation/o?_summary=true',
    '/Observation/o/_history/1',
    '/Patient?_id=own,other&_sort=_id',
    '/Patient/own/$everything',
    '/metadata',
  ])
    assert.is((await both('GET', url)).status, 200, url)
  for (const [body, status] of [
    [observation('o', 'Patient/own', '<foo/>'), 400],
    [observation('o', 'Patient/own').replace('final', 'x'), 422],
    [observation('x', 'Patient/own'), 400],
    [`<!DOCTYPE a>${observation('o', 'Patient/own')}`, 400],
    ['', 400],
  ] as const)
    assert.is((await both('PUT', '/Observation/o', body)).status, status)
  const entry = `<entry><resource><Patient>${xml('id', 'b')}${narrative}</Patient></resource><request>${xml('method', 'PUT')}${xml('url', 'Patient/b')}</request></entry>`
  assert.is((await both('POST', '/', resource('Bundle', xml('type', 'transaction') + entry))).status, 200)
  assert.is((await both('POST', '/Observation/$validate', observation('o', 'Patient/own'))).status, 200)
})

test('a caller with limited access is held to the same limits', async () => {
  restrictions = [inCompartment('Patient', 'own')]
  try {
    const change = xml('issued', '2020-01-01T00:00:00Z')
    assert.is((await both('PUT', '/Observation/of-own', observation('of-own', 'Patient/own', change))).status, 200)
    assert.is((await both('PUT', '/Observation/of-other', observation('of-other', 'Patient/own', change))).status, 404)
    assert.is((await both('PUT', '/Observation/of-own', observation('of-own', 'Patient/other', change))).status, 403)
    assert.is((await both('POST', '/Observation', observation('x', 'Patient/other'))).status, 403)
    assert.is((await both('GET', '/Patient/other')).status, 404)
    const seen = await both('GET', '/Patient?_sort=_id')
    assert.equal(seen.values('entry/resource/Patient/id'), ['own'])
    restrictions = [onlyTypes('Observation')]
    // As with JSON, the ruling comes before what is wrong with the body.
    assert.is((await both('PUT', '/Patient/other', '<Patient/>')).status, 403)
  } finally {
    restrictions = []
  }
  assert.is((await both('GET', '/Observation/of-other')).headers.etag, 'W/"1"')
})

test('the audit trail of both has the same events', async () => {
  const events = await Promise.all(
    servers.map(async (server) => {
      const { body } = await server.inject({ url: '/_audit?_count=200', headers: { accept: 'application/fhir+json' } })
      const { entry } = JSON.parse(body) as { entry: { resource: { subtype?: { code: string }[]; outcome: string } }[] }
      return entry.map(({ resource: { subtype, outcome } }) => `${subtype?.[0]?.code} ${outcome}`)
    }),
  )
  assert.ok((events[0]?.length ?? 0) > 20)
  assert.equal(events[0]?.toSorted(), events[1]?.toSorted())
})

test.run()
