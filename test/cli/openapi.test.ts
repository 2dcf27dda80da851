/** `server openapi`: the document of the configured database, printed without serving. */
import { existsSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../plugins/database/index.ts'
import openapi from '../../plugins/openapi/index.ts'
import { temporaryFolder } from '../support/database-kinds.ts'
import { fhirPlugins } from '../support/fhir-plugins.ts'
import { stubDefinitions } from '../support/stub-definitions.ts'
import { createWorld } from '../support/world.ts'

const plugins = [database, stubDefinitions(), ...fhirPlugins, openapi]

test('it prints one document, and nothing else', async () => {
  const world = createWorld({ plugins, argv: ['openapi', '--memory'] })
  const { code, stdout, stderr } = await world.run()
  world.remove()
  assert.equal([code, stderr], [0, ''])
  const { openapi: version, paths } = JSON.parse(stdout) as { openapi: string; paths: Record<string, unknown> }
  assert.is(version, '3.1.1')
  assert.ok(paths['/Patient/{id}'])
})

test('a database that is not there is not created: exit 1, and a reason', async () => {
  const folder = temporaryFolder()
  const path = `${folder.path}/none.sqlite`
  const world = createWorld({ plugins, argv: ['openapi', '--sqlite', path] })
  const { code, stdout, stderr } = await world.run()
  world.remove()
  assert.equal([code, stdout], [1, ''])
  assert.match(stderr, 'none.sqlite')
  assert.not.ok(existsSync(path))
  folder.remove()
})

test.run()
