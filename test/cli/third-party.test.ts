/** Plugins of `[plugins] load`: their flags, settings and commands are part of the command line. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { shop } from '../support/shop.ts'
import { createWorld, type Ran, type TestWorld } from '../support/world.ts'

const resolved = (specifier: string): string => JSON.stringify(import.meta.resolve(specifier))

// As a third party would write it, but for the absolute addresses: a temporary folder has no node_modules.
const KAFKA = `
import { Type } from ${resolved('typebox')}
import { Command, Flags } from ${resolved('@oclif/core')}
import { definePlugin } from ${resolved('../../kernel/index.ts')}
import { commandContext } from ${resolved('../../kernel/command.ts')}

class Topics extends Command {
  static summary = 'Lists the topics.'
  static flags = { long: Flags.boolean({ description: 'With their sizes.' }) }
  async run() {
    const { flags } = await this.parse(Topics)
    const { kernel, stdout } = commandContext(this)
    const { settings } = await kernel()
    stdout.write(settings.section('plugin.kafka').topic + (flags.long ? ' 0 bytes' : '') + '\\n')
  }
}

export default definePlugin({
  name: 'kafka',
  description: 'Sends every change to Kafka',
  api: '^2.0.0',
  config: {
    kafka: Type.Object({
      topic: Type.String({ default: 'changes', flag: 'kafka-topic', env: 'KAFKA_TOPIC', description: 'Where to.' }),
    }),
  },
  commands: { topics: async () => Topics },
  setup() {},
})
`

const test = suite<{ test: TestWorld }>('third-party plugins')
test.before.each((context) => {
  context.test = createWorld()
  writeFileSync(join(context.test.folder, 'kafka.mjs'), KAFKA)
  writeFileSync(join(context.test.folder, 'server.toml'), '[plugins]\nload = ["./kafka.mjs"]\n')
})
test.after.each((context) => context.test.remove())

const server = (line: string, { folder }: TestWorld, environment: Record<string, string> = {}): Promise<Ran> =>
  createWorld({ argv: line.split(' '), plugins: [shop()], folder, environment }).run()

test('its command and its flags are in --help', async ({ test: world }) => {
  const { stdout } = await server('--help', world)
  assert.match(stdout, /^ {2}topics +Lists the topics\.$/m)
  assert.match(stdout, '--kafka-topic')
  assert.match(stdout, /^\[PLUGIN\.KAFKA\] FLAGS$/m)
})

test('its command runs, with its settings from file, environment and flag', async ({ test: world }) => {
  assert.equal(await server('topics', world), { code: 0, stdout: 'changes\n', stderr: '' })
  assert.is((await server('topics --long', world)).stdout, 'changes 0 bytes\n')
  assert.is((await server('topics', world, { KAFKA_TOPIC: 'env' })).stdout, 'env\n')
  assert.is((await server('topics --kafka-topic flag', world, { KAFKA_TOPIC: 'env' })).stdout, 'flag\n')
  const toml = '[plugins]\nload = ["./kafka.mjs"]\n[plugin.kafka]\ntopic = "file"\n'
  writeFileSync(join(world.folder, 'server.toml'), toml)
  assert.is((await server('topics', world)).stdout, 'file\n')
})

test('it is listed by plugins, with its section', async ({ test: world }) => {
  const { stdout } = await server('plugins', world)
  assert.match(stdout, /^kafka {2}Sends every change to Kafka$/m)
  assert.match(stdout, 'plugin.kafka.topic')
})

test('a path is relative to the settings file, not to the working directory', async ({ test: world }) => {
  mkdirSync(join(world.folder, 'etc'))
  writeFileSync(join(world.folder, 'etc/my.toml'), '[plugins]\nload = ["../kafka.mjs"]\n')
  assert.is((await server('topics --config etc/my.toml', world)).stdout, 'changes\n')
})

test('a wrong setting of it is refused with its line', async ({ test: world }) => {
  const toml = '[plugins]\nload = ["./kafka.mjs"]\n[plugin.kafka]\ntopik = "a"\n[plugin.rabbit]\nx = 1\n'
  writeFileSync(join(world.folder, 'server.toml'), toml)
  const { code, stderr } = await server('config', world)
  assert.is(code, 2)
  assert.match(stderr, 'server: server.toml:4: [plugin.kafka] topik is not a setting; did you mean topic?\n')
  assert.match(stderr, 'server: server.toml:5: [plugin.rabbit]: no plugin named rabbit is loaded')
})

test('one that cannot be loaded stops every command by name, but not help', async ({ test: world }) => {
  writeFileSync(join(world.folder, 'server.toml'), '[plugins]\nload = ["./gone.mjs"]\n')
  const { code, stderr } = await server('config', world)
  assert.is(code, 2)
  assert.match(stderr, /^server: The plugin "\.\/gone\.mjs" from \[plugins\] load cannot be loaded: [^\n]+\n$/)
  const help = await server('--help', world)
  assert.is(help.code, 0)
  assert.match(help.stderr, 'gone.mjs')
})

test('what is no list of references is refused with its line', async ({ test: world }) => {
  writeFileSync(join(world.folder, 'server.toml'), '[plugins]\nload = "./kafka.mjs"\n')
  const { code, stderr } = await server('config', world)
  assert.is(code, 2)
  assert.match(stderr, /^server: server\.toml:2: \[plugins\] load is "\.\/kafka\.mjs"; it takes an array/)
})

test.run()
