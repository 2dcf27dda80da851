/** examples/first-plugin.ts, installed as a package and loaded by its name. */
import { readFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { kernelWith } from '../support/kernel-with.ts'
import { createPackageFolder, type PackageFolder } from '../support/package-folder.ts'
import { basic } from '../support/server-with.ts'
import { createWorld, type Ran } from '../support/world.ts'

const NAME = '@acme/first-plugin'
const HEADERS = { 'content-type': 'application/fhir+json' }
// The one change its own package asks for.
const SOURCE = readFileSync(new URL('../../examples/first-plugin.ts', import.meta.url), 'utf8').replace(
  "from '../kernel/index.ts'",
  "from 'refhir'",
)

const test = suite<{ folder: PackageFolder }>('first plugin')
test.before((context) => {
  context.folder = createPackageFolder()
  context.folder.install(
    NAME,
    { type: 'module', exports: { import: './first-plugin.js' } },
    { 'first-plugin.ts': SOURCE },
  )
})
test.after(({ folder }) => folder.remove())

const started = async (folder: PackageFolder, tally?: object) => {
  const settings = { plugins: { load: [NAME] }, database: { kind: 'memory' }, ...(tally && { plugin: { tally } }) }
  const { kernel } = await kernelWith(basic, { folder: folder.path, settings })
  await kernel.start()
  return kernel
}

const server = (folder: PackageFolder, line: string, toml: string): Promise<Ran> => {
  folder.write('server.toml', `[plugins]\nload = ["${NAME}"]\n${toml}`)
  return createWorld({ argv: line.split(' '), plugins: basic, folder: folder.path }).run()
}

test('its hook counts changes, and its route tells', async ({ folder }) => {
  const kernel = await started(folder)
  const create = (type: string, more = '') =>
    kernel.inject({ method: 'POST', url: `/${type}`, headers: HEADERS, payload: `{"resourceType":"${type}"${more}}` })
  const { id } = (await create('Patient')).json()
  assert.is((await create('Organization', ',"name":"x"')).statusCode, 201)
  assert.is((await kernel.inject({ method: 'DELETE', url: `/Patient/${id}` })).statusCode, 204)
  assert.equal((await kernel.inject('/_tally')).json(), { Patient: 2 })
  await kernel.stop()
})

test('its setting chooses the type', async ({ folder }) => {
  const kernel = await started(folder, { type: 'Organization' })
  await kernel.inject({ method: 'POST', url: '/Patient', headers: HEADERS, payload: '{"resourceType":"Patient"}' })
  const organization = '{"resourceType":"Organization","name":"x"}'
  await kernel.inject({ method: 'POST', url: '/Organization', headers: HEADERS, payload: organization })
  assert.equal((await kernel.inject('/_tally')).json(), { Organization: 1 })
  await kernel.stop()
})

test('its command runs under the server command, with its setting from the file', async ({ folder }) => {
  assert.equal(await server(folder, 'tally', ''), { code: 0, stdout: 'counts changes of Patient\n', stderr: '' })
  const toml = '[plugin.tally]\ntype = "Basic"\n'
  assert.equal(await server(folder, 'tally', toml), { code: 0, stdout: 'counts changes of Basic\n', stderr: '' })
  assert.match((await server(folder, '--help', '')).stdout, /^ {2}tally$/m)
})

test('server plugins lists what it adds', async ({ folder }) => {
  const { stdout } = await server(folder, 'plugins', '')
  const own = stdout.slice(stdout.indexOf('tally  Counts the changes'))
  for (const part of ['onCommit: count the changes', 'plugin.tally.type', 'GET /_tally', 'commands  tally'])
    assert.match(own, part)
})

test('a misspelt setting of it is refused with file and line', async ({ folder }) => {
  const { code, stderr } = await server(folder, 'config', '[plugin.tally]\ntypes = "Basic"\n')
  assert.is(code, 2)
  assert.is(stderr, 'server: server.toml:4: [plugin.tally] types is not a setting; did you mean type?\n')
})

test.run()
