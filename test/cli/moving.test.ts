/** examples/deploy/moving.md: files of other servers keep their ids, and what the page calls refused is refused. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'smol-toml'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../plugins/database/index.ts'
import importing from '../../plugins/import/index.ts'
import references from '../../plugins/references/index.ts'
import validation from '../../plugins/validation/index.ts'
import { fhirPlugins } from '../support/fhir-plugins.ts'
import { codeBlocks } from '../support/pages.ts'
import { serverWith } from '../support/server-with.ts'
import { stubDefinitions } from '../support/stub-definitions.ts'
import { createWorld, type Ran } from '../support/world.ts'

const PAGE = 'examples/deploy/moving.md'
const plugins = [database, stubDefinitions('all'), validation, ...fhirPlugins, references, importing]
const place = createWorld()
test.after(() => place.remove())
const at = (path: string): string => join(place.folder, path)
const settings = { database: { kind: 'sqlite', sqlite_path: at('refhir.sqlite') } }
const [dryRun = '', real = ''] = codeBlocks(PAGE, 'sh').map((text) => text.trim())

/** A command of the page, in the folder of the test. */
const run = (line: string): Promise<Ran> => {
  const [, ...argv] = line
    .split(' ')
    .map((word) => (/^(refhir\.sqlite|refused\.ndjson|moved\/)$/.test(word) ? at(word) : word))
  return createWorld({ plugins, folder: place.folder, argv }).run()
}
const records = (path: string, ...resources: readonly object[]): void =>
  writeFileSync(at(path), resources.map((one) => `${JSON.stringify(one)}\n`).join(''))

const UUID = '3f0b8a52-6d7e-4c1a-9a57-0d8a1c9be111'
const hapi = { versionId: '7', lastUpdated: '2024-02-03T04:05:06.789+00:00', source: '#qWx1' }
const code = { text: 'pulse' }

test('ids are kept, versions begin anew, references between the files hold, and meta of Medplum is refused', async () => {
  await (await serverWith({ plugins, settings })).stop()
  mkdirSync(at('moved'))
  records(
    'moved/Observation.0001.ndjson',
    { resourceType: 'Observation', id: '12', meta: hapi, status: 'final', code, subject: { reference: 'Patient/11' } },
    { resourceType: 'Observation', id: '13', status: 'final', code, subject: { reference: `Patient/${UUID}` } },
  )
  records(
    'moved/Patient.0002.ndjson',
    { resourceType: 'Patient', id: '11', meta: hapi },
    { resourceType: 'Patient', id: UUID },
    { resourceType: 'Patient', id: 'p3', meta: { project: UUID, author: { reference: 'Practitioner/1' } } },
  )
  records('moved/Bot.0003.ndjson', { resourceType: 'Bot', id: 'b1', name: 'x' })
  const tried = await run(dryRun)
  assert.is(tried.code, 1, tried.stderr)
  const moved = await run(real)
  assert.is(moved.code, 1)
  const refused = readFileSync(at('refused.ndjson'), 'utf8')
  assert.match(refused, /Patient\.0002\.ndjson:3: /)
  assert.match(refused, /Bot\.0003\.ndjson:1: /)
  const config = parse(codeBlocks(PAGE, 'toml').join('\n')) as Record<string, object>
  const server = await serverWith({ plugins, settings: { ...settings, ...config } })
  for (const path of ['Patient/11', `Patient/${UUID}`, 'Observation/12', 'Observation/13']) {
    const answer = await server.inject(`/${path}`)
    assert.is(answer.statusCode, 200, path)
    assert.is(answer.headers.etag, 'W/"1"')
  }
  assert.is((await server.inject('/Patient/p3')).statusCode, 404)
  const headers = { 'content-type': 'application/fhir+json' }
  const payload = '{"resourceType":"Patient","id":"chosen"}'
  assert.is((await server.inject({ method: 'PUT', url: '/Patient/chosen', headers, payload })).statusCode, 201)
  const absolute = 'Observation?subject=https://old.example.org/fhir/Patient/11'
  assert.is((await server.inject(`/${absolute}`)).json().entry.length, 1)
  await server.stop()
})

test.run()
