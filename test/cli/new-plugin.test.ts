/** `server plugin new`: what it writes, and what it refuses. test/cli/packed-install.test.ts builds and loads what it wrote. */
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { shop } from '../support/shop.ts'
import { createWorld, type Ran, type TestWorld } from '../support/world.ts'

const root = new URL('../../', import.meta.url)
const ours = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))

const test = suite<{ world: TestWorld }>('plugin new')
test.before.each((context) => {
  context.world = createWorld()
})
test.after.each(({ world }) => world.remove())

const server = ({ folder }: TestWorld, ...argv: readonly string[]): Promise<Ran> =>
  createWorld({ argv, plugins: [shop()], folder }).run()

test('a package with a scope gets a folder, a plugin and a section of its last name', async ({ world }) => {
  const { code, stdout, stderr } = await server(world, 'plugin', 'new', '@acme/slow-requests')
  assert.is(code, 0, stderr)
  assert.match(stdout, `${join(world.folder, 'slow-requests')}: the package @acme/slow-requests`)
  const folder = join(world.folder, 'slow-requests')
  assert.equal(readdirSync(folder, { recursive: true }).sort(), [
    '.gitignore',
    'README.md',
    'package.json',
    'src',
    'src/index.test.ts',
    'src/index.ts',
    'tsconfig.json',
  ])
  const made = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  assert.is(made.name, '@acme/slow-requests')
  assert.equal(made.peerDependencies, { refhir: `^${ours.version}` })
  assert.is(made.devDependencies.typescript, ours.devDependencies.typescript)
  assert.is(made.engines.node, ours.engines.node)
  assert.match(readFileSync(join(folder, 'README.md'), 'utf8'), '[plugin.slow-requests]')
})

const REFUSED: Readonly<Record<string, RegExp>> = {
  '../up': /"\.\.\/up" cannot be the name of a plugin/,
  'a/b': /cannot be the name of a plugin/,
  Tally: /cannot be the name of a plugin/,
  '9lives': /cannot be the name of a plugin/,
  'a--b': /cannot be the name of a plugin/,
  "x'); process.exit()": /cannot be the name of a plugin/,
  [`a${'b'.repeat(64)}`]: /of at most 64 characters/,
  shop: /there is a plugin shop already; choose another name/,
  '@acme/shop': /there is a plugin shop already/,
  refhir: /a plugin cannot be called refhir/,
}
for (const [name, sentence] of Object.entries(REFUSED))
  test(`the name ${name.slice(0, 20)} is refused with 2, and nothing is written`, async ({ world }) => {
    const { code, stderr } = await server(world, 'plugin', 'new', name)
    assert.is(code, 2)
    assert.match(stderr, sentence)
    assert.is(stderr.trim().split('\n').length, 1, stderr)
    assert.equal(readdirSync(world.folder), [])
  })

test('a folder that is there is left as it is', async ({ world }) => {
  mkdirSync(join(world.folder, 'tally'))
  const { code, stderr } = await server(world, 'plugin', 'new', 'tally')
  assert.is(code, 2)
  assert.match(stderr, /tally is already there; choose another name/)
  assert.equal(readdirSync(join(world.folder, 'tally')), [])
})

test('without a name it says what is missing', async ({ world }) => {
  const { code, stderr } = await server(world, 'plugin', 'new')
  assert.is(code, 2)
  assert.match(stderr, /server plugin needs an argument: <name>/)
  assert.not.ok(existsSync(join(world.folder, 'undefined')))
})

test.run()
