/** Plugins of third parties, from `[plugins] load`: found, checked, and blamed by name for what they do wrong. */
import { createServer } from 'node:http'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin, defineService, type Kernel } from '../../kernel/index.ts'
import probes from '../../plugins/probes/index.ts'
import { kernelWith } from '../support/kernel-with.ts'
import { createPackageFolder, type PackageFolder } from '../support/package-folder.ts'

const test = suite<{ folder: PackageFolder }>('third-party plugins')
test.before.each((context) => {
  context.folder = createPackageFolder()
})
test.after.each(({ folder }) => folder.remove())

const load = (folder: PackageFolder, references: readonly string[], settings: object = {}) =>
  kernelWith([probes], { folder: folder.path, settings: { plugins: { load: references }, ...settings } })

const namesOf = async (kernel: Kernel): Promise<string> =>
  (await kernel.describe())
    .map(({ name }) => name)
    .filter((name) => name !== 'probes')
    .join(' ')

/** The message of a refusal, which is one line. */
const refusal = async (work: () => Promise<unknown>): Promise<string> => {
  try {
    await work()
  } catch (error) {
    const { message } = error as Error
    assert.not.match(message, '\n')
    return message
  }
  return 'nothing was refused'
}

const plugin = (name: string, rest = 'setup() {}'): string =>
  `import { definePlugin, defineService } from 'refhir'\nexport default definePlugin({ name: '${name}', ${rest} })\n`

test('a path is found from the folder of the settings file, also above it', async ({ folder }) => {
  folder.write('mine.js', plugin('mine'))
  folder.write('deep/other.mjs', plugin('other'))
  folder.write('typed.ts', `${plugin('typed')}const unused: number = 1\n`)
  assert.is(
    await namesOf((await load(folder, ['./mine.js', './deep/other.mjs', './typed.ts'])).kernel),
    'mine other typed',
  )
  const { kernel } = await kernelWith([], {
    folder: `${folder.path}/deep`,
    settings: { plugins: { load: ['../mine.js', `${folder.path}/deep/other.mjs`] } },
  })
  assert.is(await namesOf(kernel), 'mine other')
})

const SHAPES: Readonly<Record<string, { fields: object; file: string; reference?: string }>> = {
  main: { fields: { type: 'module', main: 'entry.js' }, file: 'entry.js' },
  'nothing but index.js': { fields: { type: 'module' }, file: 'index.js' },
  'exports that are a text': { fields: { type: 'module', exports: './entry.js' }, file: 'entry.js' },
  'exports for import only': { fields: { type: 'module', exports: { import: './entry.js' } }, file: 'entry.js' },
  'exports of "." for import only': { fields: { exports: { '.': { import: './entry.mjs' } } }, file: 'entry.mjs' },
  'nested conditions': {
    fields: {
      type: 'module',
      exports: { '.': { browser: './no.js', node: { require: './no.cjs', import: './entry.js' } } },
    },
    file: 'entry.js',
  },
  'a default after types': {
    fields: { type: 'module', exports: { '.': { types: './entry.d.ts', default: './entry.js' } } },
    file: 'entry.js',
  },
  'a condition behind one that holds nothing to import': {
    fields: { type: 'module', exports: { '.': { node: { require: './no.cjs' }, default: './entry.js' } } },
    file: 'entry.js',
  },
  alternatives: { fields: { type: 'module', exports: { '.': [{ deno: './no.js' }, './entry.js'] } }, file: 'entry.js' },
  'a subpath': {
    fields: { type: 'module', exports: { '.': './no.js', './plugin': './entry.js' } },
    file: 'entry.js',
    reference: '/plugin',
  },
  'a pattern': {
    fields: { type: 'module', exports: { './*': './no/*.js', './plugins/*': { import: './lib/*/entry.js' } } },
    file: 'lib/kafka/entry.js',
    reference: '/plugins/kafka',
  },
}
for (const [shape, { fields, file, reference = '' }] of Object.entries(SHAPES))
  for (const name of ['@acme/server-kafka', 'server-kafka'])
    test(`the package ${name} is found by ${shape}`, async ({ folder }) => {
      folder.install(name, fields, { [file]: plugin('kafka') })
      assert.is(await namesOf((await load(folder, [`${name}${reference}`])).kernel), 'kafka')
    })

test('a package is found in node_modules above the folder too', async ({ folder }) => {
  folder.install('server-kafka', { type: 'module', exports: { import: './entry.js' } }, { 'entry.js': plugin('kafka') })
  folder.write('etc/server/server.toml', '')
  const { kernel } = await kernelWith([], {
    folder: `${folder.path}/etc/server`,
    settings: { plugins: { load: ['server-kafka'] } },
  })
  assert.is(await namesOf(kernel), 'kafka')
})

const UNLOADABLE: Readonly<Record<string, { reference?: string; fields?: object; text?: string; says: RegExp }>> = {
  'that is not there': {
    reference: '@acme/gone',
    says: /there is no package of that name in node_modules of .* or above/,
  },
  'of a path that is not there': { reference: './gone.js', says: /Cannot find module/ },
  'that exports nothing to import': {
    fields: { exports: { require: './x.cjs' } },
    says: /offer nothing to import there/,
  },
  'whose entry is closed': { fields: { exports: { '.': null } }, says: /offer nothing to import there/ },
  'whose entry is missing': { fields: { exports: { import: './missing.js' } }, says: /Cannot find module/ },
  'that cannot be parsed': { text: 'export default {', says: /Unexpected end of input/ },
  'that throws while it is imported': { text: 'throw new Error("no\\n  licence")', says: /: no licence$/ },
  'that throws no error while it is imported': { text: 'throw undefined', says: /: it threw undefined$/ },
  'that imports what is not there': { text: 'import "kafka-client"', says: /Cannot find package 'kafka-client'/ },
  'called like a module of Node': { reference: 'node:fs', says: /there is no package of that name|offer nothing/ },
}
for (const [what, { reference = '@acme/kafka', fields, text = plugin('kafka'), says }] of Object.entries(UNLOADABLE))
  test(`a plugin ${what} stops the start, by its reference`, async ({ folder }) => {
    folder.install('@acme/kafka', { type: 'module', ...fields }, { 'index.js': text })
    const message = await refusal(() => load(folder, [reference]))
    assert.ok(message.startsWith(`The plugin "${reference}" from [plugins] load cannot be loaded: `), message)
    assert.match(message, says)
  })

const MISSHAPEN: Readonly<Record<string, { text: string; says: string }>> = {
  'no default export': { text: 'export const plugin = {}', says: 'it has no default export' },
  'a function': { text: 'export default () => undefined', says: 'its default export is a function' },
  null: { text: 'export default null', says: 'its default export is null' },
  'no name': { text: 'export default { setup() {} }', says: 'its name is missing or not lower-case words' },
  'a name in capitals': { text: plugin('Kafka'), says: 'its name is missing or not lower-case words' },
  'no setup': { text: plugin('kafka', ''), says: 'it has no setup function' },
  'an api that is a number': {
    text: plugin('kafka', 'api: 1, setup() {}'),
    says: 'its api is not a range such as "^2.0.0"',
  },
  'a section of another name': {
    text: `import { Type } from 'typebox'\n${plugin('kafka', 'config: { audit: Type.Object({}) }, setup() {}')}`,
    says: 'its settings stand under [plugin.kafka], and it declares "audit"; call the section "kafka"',
  },
  'a section that is no object': {
    text: `import { Type } from 'typebox'\n${plugin('kafka', 'config: { kafka: Type.String() }, setup() {}')}`,
    says: 'its config "kafka" is not made by Type.Object',
  },
  'a need that is no token': {
    text: plugin('kafka', 'needs: { db: undefined }, setup() {}'),
    says: 'what it needs, uses or provides is not made by defineService',
  },
}
for (const [what, { text, says }] of Object.entries(MISSHAPEN))
  test(`what is no plugin stops the start and is told why: ${what}`, async ({ folder }) => {
    folder.write('mine.js', text)
    assert.is(
      await refusal(() => load(folder, ['./mine.js'])),
      `The plugin "./mine.js" is not one: ${says}. Its default export must come from definePlugin({ name, setup }).`,
    )
  })

for (const api of ['^1.0.0', '^3.0.0', '>=2.1.0', '0.x', 'latest', '>2'])
  test(`a plugin written for kernel API "${api}" is refused by name`, async ({ folder }) => {
    folder.write('mine.js', plugin('kafka', `api: '${api}', setup() {}`))
    assert.is(
      await refusal(() => load(folder, ['./mine.js'])),
      `The plugin "kafka" was written for kernel API ${api}; this server has 2.0.0. ` +
        'CONTRIBUTING.md says under "From 1 to 2" what has changed.',
    )
  })

for (const api of ['^2.0.0', '2', '2.x', '*', '>=1.0.0 <3'])
  test(`a plugin written for kernel API "${api}" is taken`, async ({ folder }) => {
    folder.write('mine.js', plugin('kafka', `api: '${api}', setup() {}`))
    assert.is(await namesOf((await load(folder, ['./mine.js'])).kernel), 'kafka')
  })

test('settings stand under [plugin.<name>], with sections below it; an unknown or wrong one stops the start', async ({
  folder,
}) => {
  folder.write(
    'kafka.js',
    `import { Type } from 'typebox'
     import { definePlugin } from 'refhir'
     export default definePlugin({
       name: 'kafka',
       config: {
         kafka: Type.Object({ topic: Type.String({ default: 'changes' }), partitions: Type.Integer({ default: 1 }) }),
         'kafka.tls': Type.Object({ ca: Type.String({ default: 'none' }) }),
       },
       setup({ config, log }) {
         log.info({ topic: config.kafka.topic, ca: config['kafka.tls'].ca }, 'configured')
       },
     })`,
  )
  const { lines } = await load(folder, ['./kafka.js'], { plugin: { kafka: { topic: 'fhir', tls: { ca: 'ca.pem' } } } })
  assert.equal([lines[0]!.plugin, lines[0]!.topic, lines[0]!.ca], ['kafka', 'fhir', 'ca.pem'])
  assert.is(
    await refusal(() => load(folder, ['./kafka.js'], { plugin: { kafka: { topik: 'x' } } })),
    'settings: [plugin.kafka] topik is not a setting; did you mean topic?',
  )
  assert.match(
    await refusal(() => load(folder, ['./kafka.js'], { plugin: { kafka: { partitions: 'many' } } })),
    /^settings: \[plugin\.kafka\] partitions is "many"; it takes an integer/,
  )
  assert.match(
    await refusal(() => load(folder, ['./kafka.js'], { plugin: { rabbit: {} } })),
    /^settings: \[plugin\.rabbit\]: no plugin named rabbit is loaded/,
  )
  assert.match(
    await refusal(() => load(folder, ['./kafka.js'], { kafka: { topic: 'x' } })),
    /^settings: \[kafka\] is not a section/,
  )
})

test('a third party may not take the name of a first-party plugin', async ({ folder }) => {
  folder.write('mine.js', plugin('probes'))
  assert.is(await refusal(() => load(folder, ['./mine.js'])), 'Two plugins are named "probes".')
})

test('a plugin that throws in setup stops the start, by name', async ({ folder }) => {
  folder.write('mine.js', plugin('kafka', 'setup() { throw new Error("no broker\\nis set") }'))
  assert.is(await refusal(() => load(folder, ['./mine.js'])), 'The plugin "kafka" cannot be set up: no broker is set')
})

test('a promised service that is not provided stops the start, by name', async ({ folder }) => {
  folder.write('mine.js', plugin('kafka', 'provides: [defineService("kafka/queue")], setup() {}'))
  assert.is(
    await refusal(() => load(folder, ['./mine.js'])),
    'The plugin "kafka" promised the service "kafka/queue" and did not provide it in setup.',
  )
})

test('a circle of needs stops the start, drawn with its arrows', async ({ folder }) => {
  folder.write(
    'services.js',
    `import { defineService } from 'refhir'\nexport const A = defineService('kafka/a')\nexport const B = defineService('rabbit/b')\n`,
  )
  const circular = (name: string, needs: string, provides: string): string =>
    `import { A, B } from './services.js'\n${plugin(name, `needs: { x: ${needs} }, provides: [${provides}], setup({ provide }) { provide(${provides}, 1) }`)}`
  folder.write('a.js', circular('kafka', 'B', 'A'))
  folder.write('b.js', circular('rabbit', 'A', 'B'))
  assert.is(
    await refusal(() => load(folder, ['./a.js', './b.js'])),
    'The plugins need one another in a circle: kafka → rabbit → kafka.',
  )
})

test('the name of a service that a third party provides begins with that of its plugin', async ({ folder }) => {
  for (const [name, asked] of [
    ['queue', 'kafka/queue'],
    ['rabbit/queue', 'kafka/queue'],
    ['kafka', 'kafka/kafka'],
  ]) {
    folder.write(`${name}.js`, plugin('kafka', `provides: [defineService('${name}')], setup() {}`))
    assert.is(
      await refusal(() => load(folder, [`./${name}.js`])),
      `The plugin "kafka" provides the service "${name}"; the name of its service begins with its own name: "${asked}".`,
    )
  }
})

test('a third party may provide a first-party service in place of the plugin that is disabled', async ({ folder }) => {
  const Queue = defineService<string>('queue')
  const kept = (enabled: boolean) =>
    definePlugin({
      name: 'kept',
      provides: [Queue],
      enabled: () => enabled,
      setup: ({ provide }) => provide(Queue, 'kept'),
    })
  folder.write(
    'kafka.js',
    `import { definePlugin, defineService } from 'refhir'
     const Queue = defineService('queue')
     export default definePlugin({ name: 'kafka', provides: [Queue], setup: ({ provide }) => provide(Queue, 'kafka') })`,
  )
  const start = (enabled: boolean) =>
    kernelWith([kept(enabled)], { folder: folder.path, settings: { plugins: { load: ['./kafka.js'] } } })
  assert.is((await start(false)).kernel.get(Queue), 'kafka')
  assert.is(
    await refusal(() => start(true)),
    'The plugins "kept" and "kafka" both provide the service "queue"; disable one of them.',
  )
})

test('a service of the house is reached by its token', async ({ folder }) => {
  folder.write(
    'mine.js',
    `import { definePlugin } from 'refhir'
     import { Database } from 'refhir/plugins/database/service'
     export default definePlugin({ name: 'kafka', needs: { database: Database }, setup() {} })`,
  )
  assert.is(
    await refusal(() => load(folder, ['./mine.js'])),
    'The plugin "kafka" needs the service "database", which no enabled plugin provides.',
  )
})

test('a plugin that rejects in start fails the start by name, and /readyz stays 503', async ({ folder }) => {
  folder.write('mine.js', plugin('kafka', 'setup() { return { start: async () => { throw new Error("no broker") } } }'))
  const { kernel } = await load(folder, ['./mine.js'])
  const server = createServer(kernel.handler)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  assert.is((await fetch(`${address}/readyz`)).status, 503)
  assert.is(await refusal(() => kernel.start()), 'The plugin "kafka" cannot start: no broker')
  assert.is(kernel.phase, 'failed')
  assert.is((await fetch(`${address}/readyz`)).status, 503)
  await kernel.stop()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

test('a plugin that throws in a hook answers 500 and is logged by name and hook; one that taps late too', async ({
  folder,
}) => {
  folder.write(
    'mine.js',
    plugin(
      'kafka',
      `setup({ hooks, routes }) {
         hooks.admit.tapPromise('ask the broker', async ({ url }) => {
           if (url === '/late') hooks.meter.tap('too late', () => undefined)
           if (url === '/throw') throw new Error('the broker said: secret words')
         })
         routes((app, options, done) => {
           for (const url of ['/fine', '/late', '/throw']) app.get(url, async () => 'fine')
           done()
         })
       }`,
    ),
  )
  const { kernel, lines } = await load(folder, ['./mine.js'])
  await kernel.start()
  assert.is((await kernel.inject('/fine')).body, 'fine')
  const thrown = await kernel.inject('/throw')
  assert.is(thrown.statusCode, 500)
  assert.not.match(thrown.body, 'secret words')
  const late = await kernel.inject('/late')
  assert.is(late.statusCode, 500)
  assert.equal(
    lines.map(({ plugin: name, hook, err }) => [name, hook, err.message]),
    [
      ['kafka', 'admit', 'the broker said: secret words'],
      ['kafka', 'admit', 'The plugin "kafka" taps the hook "meter" after setup; taps are taken in setup only.'],
    ],
  )
  await kernel.stop()
})

test.run()
