/** `server terminology pull`: what it prints, and how it exits. */
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../plugins/database/index.ts'
import terminology from '../../plugins/terminology/index.ts'
import { fhirPlugins } from '../support/fhir-plugins.ts'
import { serverWith } from '../support/server-with.ts'
import { stubDefinitions } from '../support/stub-definitions.ts'
import { startTerminologySource, type TerminologySource } from '../support/terminology-source.ts'
import { createWorld, type Ran } from '../support/world.ts'

const plugins = [database, stubDefinitions('all'), ...fhirPlugins, terminology]
const place = createWorld()
const path = join(place.folder, 'a.sqlite')
const settings = { database: { kind: 'sqlite', sqlite_path: path } }
let source: TerminologySource

const run = (args: readonly string[], on = ['--sqlite', path]): Promise<Ran> =>
  createWorld({ plugins, folder: place.folder, argv: ['terminology', ...args, ...on] }).run()

test.before(async () => {
  source = await startTerminologySource()
  source.definitions.set('CodeSystem', [
    { resourceType: 'CodeSystem', id: 'c', url: 'http://c.example', content: 'complete', concept: [{ code: 'a' }] },
  ])
  const sets = [1, 2, 3].map((n) => ({
    resourceType: 'ValueSet',
    ...{ id: `s${n}`, url: `http://s.example/${n}`, compose: { include: [{ system: 'http://c.example' }] } },
  }))
  source.definitions.set('ValueSet', sets)
  await (await serverWith({ settings, plugins })).stop()
})
test.after(async () => {
  await source.close()
  place.remove()
})

test('a source that fails exits with 1 and says so, and the next run goes on and exits with 0', async () => {
  source.intercept = (path, response) => path.includes('from=2') && response.writeHead(503).end() !== undefined
  const first = await run(['pull', '--terminology', source.url])
  assert.is(first.code, 1, first.stderr)
  assert.match(first.stdout, /does not answer: it answered 503\. What was pulled before stays in use/)
  source.intercept = undefined
  const second = await run(['pull', '--terminology', source.url])
  assert.is(second.code, 0, second.stderr)
  assert.match(second.stdout, /^ValueSet of http:\S+: going on behind 2 resources$/m)
  assert.match(second.stdout, /^100 % \(3 of 3 resources, \d+\/s\) ValueSet of http:/m)
  assert.match(second.stdout, /^3 resources pulled$/m)
  const server = await serverWith({ settings, plugins })
  assert.is((await server.inject('/ValueSet/$expand?url=http://s.example/3')).statusCode, 200)
  await server.stop()
})

test('a malformed definition is named, exits with 1, and others are pulled', async () => {
  const broken = { resourceType: 'CodeSystem', id: 'b', url: 'http://b.example', content: 'complete', concept: [null] }
  const systems = source.definitions.get('CodeSystem') as Record<string, unknown>[]
  source.definitions.set('CodeSystem', [...systems, broken])
  const ran = await run(['pull', '--all', '--terminology', source.url])
  source.definitions.set('CodeSystem', systems)
  assert.is(ran.code, 1, ran.stderr)
  assert.match(
    ran.stdout,
    /^The CodeSystem "http:\/\/b\.example" of http:\S+ was not pulled: an element of concept is no/m,
  )
  assert.match(ran.stdout, /^4 resources pulled$/m)
  assert.not.match(ran.stdout, /-\d+\/s/)
})

test('without a source, with a bad one, and without a database it exits with 2', async () => {
  const none = await run(['pull'])
  assert.is(none.code, 2)
  assert.match(none.stderr, /there is nothing to pull from; give --terminology URL/)
  assert.is((await run(['pull', '--terminology', 'http://a:secret@b.example'])).code, 2)
  assert.is((await run(['push', '--terminology', source.url])).code, 2)
  assert.is((await run(['pull', '--terminology', source.url], ['--memory'])).code, 2)
  assert.is((await run(['pull', '--terminology', source.url], ['--sqlite', join(place.folder, 'none.sqlite')])).code, 2)
})

test('while a server has the database open it exits with 1', async () => {
  const server = await serverWith({ settings, plugins })
  const held = await run(['pull', '--terminology', source.url])
  assert.is(held.code, 1)
  assert.match(held.stderr, /another process has .* open; stop that server first/)
  await server.stop()
})

test.run()
