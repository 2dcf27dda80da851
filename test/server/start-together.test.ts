/** Several servers that start at the same moment on one empty database. */
// database: postgres, the one kind that several processes share
import { copyFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { firstParty } from '../../plugins/index.ts'
import { chosenKind, temporaryFolder } from '../support/database-kinds.ts'
import { basic, serverWith, type TestServer } from '../support/server-with.ts'
import { examplesFolder } from '../support/stub-definitions.ts'
import { until } from '../support/until.ts'

const TOGETHER = 6
/** Definitions of R4 that are enough to serve patients and to search them. */
const DEFINITIONS =
  /^(StructureDefinition-(Element|Extension|BackboneElement|Resource|DomainResource|Patient|Observation|AuditEvent|SearchParameter|Meta|Identifier|HumanName|CodeableConcept|Coding|Reference|string|code|id|uri|boolean|date|dateTime|instant)|SearchParameter-(Patient|Resource|individual|clinical)-.*|CompartmentDefinition-.*|CodeSystem-administrative-gender|ValueSet-administrative-gender)\.json$/
const WAIT_MS = 2_500 // below the lock timeout of the servers

const create = async (server: TestServer): Promise<string> => {
  const headers = { 'content-type': 'application/fhir+json' }
  const payload = '{"resourceType":"Patient"}'
  const created = await server.inject({ method: 'POST', url: '/Patient', headers, payload })
  assert.is(created.statusCode, 201)
  return (created.json() as { id: string }).id
}
const start = (settings: Record<string, unknown>): Promise<TestServer> =>
  serverWith({ plugins: basic, settings, together: true })

test('servers that start together on an empty database agree on its types', async () => {
  const fresh = await chosenKind.fresh()
  const servers = await Promise.all([1, 2, 3].map(() => start(fresh.settings)))
  const id = await create(servers[0] as TestServer)
  for (const server of servers) assert.is((await server.inject(`/Patient/${id}`)).statusCode, 200)
  await Promise.all(servers.map((server) => server.stop()))
  await fresh.remove()
})

test('a server that finds no types while another is about to number them waits, and takes its numbers', async () => {
  const fresh = await chosenKind.fresh()
  await (await start(fresh.settings)).stop()
  const { postgres_url: url } = fresh.settings.database as { postgres_url: string }
  const [holder, onlooker] = [new pg.Client(url), new pg.Client(url)]
  await Promise.all([holder.connect(), onlooker.connect()])
  await holder.query('DELETE FROM resource_type')
  // Whoever reads the types goes on; whoever is about to write one waits here.
  await holder.query('BEGIN; LOCK TABLE resource_type IN SHARE MODE')
  const starting = Promise.allSettled([start(fresh.settings), start(fresh.settings)])
  const waiting = 'SELECT count(DISTINCT pid)::int AS n FROM pg_locks WHERE NOT granted'
  await until(async () => (await onlooker.query(waiting)).rows[0].n === 2, WAIT_MS, 'both servers to wait')
  await holder.query('COMMIT')
  const outcomes = await starting
  await Promise.all([holder.end(), onlooker.end()])
  const servers = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  try {
    assert.equal(
      outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [String(outcome.reason)] : [])),
      [],
    )
    const [one, other] = servers as [TestServer, TestServer]
    const id = await create(one)
    assert.is((await other.inject(`/Patient/${id}`)).statusCode, 200)
  } finally {
    await Promise.all(servers.map((server) => server.stop()))
    await fresh.remove()
  }
})

test(`${TOGETHER} servers with every plugin start together on an empty database, and one of them installs the packages`, async () => {
  const fresh = await chosenKind.fresh()
  const folder = temporaryFolder()
  const names = readdirSync(examplesFolder).filter((name) => DEFINITIONS.test(name))
  for (const name of names) copyFileSync(join(examplesFolder, name), join(folder.path, name))
  const manifest = { name: 'hl7.fhir.r4.core', version: '4.0.1', type: 'fhir.core', fhirVersions: ['4.0.1'] }
  writeFileSync(join(folder.path, 'package.json'), JSON.stringify(manifest))
  const settings = {
    ...fresh.settings,
    conformance: { skip_default_packages: true, packages: [folder.path] },
    rate_limit: { enabled: true },
    quota: { enabled: true, requests_per_day: 1_000_000 },
    metrics: { enabled: true },
  }
  const outcomes = await Promise.allSettled(
    Array.from({ length: TOGETHER }, () =>
      serverWith({ plugins: firstParty, settings, together: true, makesKeys: true }),
    ),
  )
  const servers = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  try {
    assert.equal(
      outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [String(outcome.reason)] : [])),
      [],
    )
    const saying = (msg: string): number => servers.filter(({ lines }) => lines.some((line) => line.msg === msg)).length
    assert.is(saying('installed a package'), 1)
    const id = await create(servers[0] as TestServer)
    for (const server of servers) {
      assert.is((await server.inject(`/Patient/${id}`)).statusCode, 200)
      assert.is((await server.inject(`/Patient?_id=${id}`)).json().total, 1)
    }
  } finally {
    await Promise.all(servers.map((server) => server.stop()))
    folder.remove()
    await fresh.remove()
  }
})

test.run()
