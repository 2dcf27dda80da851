/**
 * A plugin that brings a copy of this package of its own, as npm installs it when the ranges differ: the packed package,
 * unpacked twice.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { AnyPlugin, Kernel } from '../../kernel/index.ts'
import { createPackedPackage, type PackedPackage, writePlugin } from '../support/packed-package.ts'
import { searchDefinitions } from '../support/search-definitions.ts'
import { stubDefinitions } from '../support/stub-definitions.ts'

const FILTER = `
import { defineError, definePlugin } from 'refhir'
const NoTopic = defineError('filter/no-topic', 422, 'business-rule', 'There is no topic for %s.')
export default definePlugin({
  name: 'filter',
  errors: { NoTopic },
  setup({ hooks }) {
    hooks.onWrite.tap('find the topic', ({ next }) => {
      if (next.type === 'Basic') throw NoTopic(next.type)
    })
  },
})
`

const KAFKA = `
import { definePlugin, defineService, isServerError } from 'refhir'
import { Database } from 'refhir/plugins/database/service'
import { Fhir } from 'refhir/plugins/fhir/service'
const Queue = defineService('kafka/queue')
export default definePlugin({
  name: 'kafka',
  needs: { fhir: Fhir, database: Database },
  provides: [Queue],
  setup({ needs: { fhir, database }, provide }) {
    provide(Queue, { kind: database.kind })
    fhir.operation({
      code: 'topic',
      definition: 'http://example.org/OperationDefinition/topic',
      documentation: 'Tells whether an error of the server is known to this copy.',
      levels: ['instance'],
      types: ['Patient'],
      parameters: [],
      async answer({ data }) {
        const known = await data.read('Patient', 'gone').then(() => false, isServerError)
        return { resource: { resourceType: 'Parameters', parameter: [{ name: 'known', valueBoolean: known }] } }
      },
    })
  },
})
`

/** A package beside kafka with another copy still, which needs kafka's service. */
const READER = `
import { definePlugin, defineService } from 'refhir'
export let kind
export default definePlugin({
  name: 'reader',
  needs: { queue: defineService('kafka/queue') },
  setup({ needs: { queue } }) { kind = queue.kind },
})
`

const test = suite('two copies of the package')
let packed: PackedPackage
let house: string
test.before(async () => {
  packed = await createPackedPackage()
  house = await packed.install('server')
})
test.after(() => packed.remove())

const server = () => join(packed.path, 'server')

/** A plugin in the server's node_modules with a copy of its own, whose kernel API is `api` where that is given. */
const withOwnCopy = async (name: string, source: string, api?: string): Promise<void> => {
  const place = writePlugin(server(), name, source)
  const copy = await packed.install(join('server/node_modules', name))
  assert.is(place, join(copy, '../..'))
  if (api === undefined) return
  const file = join(copy, 'dist/kernel/kernel-api.js')
  const text = readFileSync(file, 'utf8').replace("'2.0.0'", `'${api}'`)
  rmSync(file)
  writeFileSync(file, text)
}

const kernelFrom = async (
  settings: Record<string, unknown>,
  definitions: AnyPlugin = stubDefinitions(),
): Promise<Kernel> => {
  const from = (file: string) => import(join(house, 'dist', file))
  const { createKernel } = await from('kernel/index.js')
  const plugins = ['database', 'model', 'storage', 'search', 'fhir'].map(
    async (name) => (await from(`plugins/${name}/index.js`)).default,
  )
  const [database, ...fhirPlugins] = await Promise.all(plugins)
  return createKernel({
    plugins: [database, definitions, ...fhirPlugins],
    folder: server(),
    settings,
    log: { level: 'silent' },
  })
}

const kernelOf = (...load: readonly string[]): Promise<Kernel> =>
  kernelFrom({ database: { kind: 'memory' }, plugins: { load } })

const refusal = async (make: () => Promise<Kernel>): Promise<string> => {
  try {
    await make()
  } catch (error) {
    return (error as Error).message
  }
  return 'nothing was refused'
}

const create = (kernel: Kernel, resource: { readonly resourceType: string; readonly [more: string]: unknown }) =>
  kernel.inject({
    method: 'POST',
    url: `/${resource.resourceType}`,
    headers: { 'content-type': 'application/fhir+json' },
    payload: JSON.stringify(resource),
  })

test('the packed package searches and takes large bodies on a file, by threads of its own', async () => {
  const database = { kind: 'sqlite', sqlite_path: join(server(), 'data.sqlite') }
  const kernel = await kernelFrom({ database }, searchDefinitions())
  await kernel.start()
  try {
    const large = await create(kernel, { resourceType: 'Patient', name: [{ family: 'x'.repeat(1_500_000) }] })
    assert.is(large.statusCode, 201, large.body.slice(0, 500))
    const made = await create(kernel, { resourceType: 'Patient', name: [{ family: 'Ng' }] })
    assert.is(made.statusCode, 201, made.body)
    const found = await kernel.inject('/Patient?family=ng&_sort=-_lastUpdated,birthdate')
    assert.equal(
      found.json().entry?.map((entry: { resource: { id: string } }) => entry.resource.id),
      [made.json().id],
      found.body,
    )
  } finally {
    await kernel.stop()
  }
})

test('an error that a plugin makes with a copy of its own is answered as it says', async () => {
  await withOwnCopy('filter', FILTER)
  const kernel = await kernelOf('filter')
  await kernel.start()
  try {
    const refused = await create(kernel, { resourceType: 'Basic' })
    assert.is(refused.statusCode, 422, refused.body)
    assert.equal(refused.json().issue, [
      { severity: 'error', code: 'business-rule', diagnostics: 'There is no topic for Basic.' },
    ])
  } finally {
    await kernel.stop()
  }
})

test('a plugin with a copy of its own finds services of the server and of other copies, and knows their errors', async () => {
  await withOwnCopy('kafka', KAFKA)
  await withOwnCopy('reader', READER)
  const kernel = await kernelOf('reader', 'kafka')
  await kernel.start()
  try {
    const made = await create(kernel, { resourceType: 'Patient' })
    assert.is(made.statusCode, 201, made.body)
    const answer = await kernel.inject(`/Patient/${made.json().id}/$topic`)
    assert.equal(answer.json().parameter, [{ name: 'known', valueBoolean: true }])
    const reader = await import(join(server(), 'node_modules/reader/index.js'))
    assert.is(reader.kind, 'memory')
  } finally {
    await kernel.stop()
  }
})

for (const [api, stated] of [
  ['1.0.0', ''],
  ['3.0.0', "api: '*', "],
] as const)
  test(`a plugin made with kernel API ${api} stops the start${stated === '' ? '' : ', whatever range it states'}`, async () => {
    const name = `kafka-${api[0]}`
    const source = KAFKA.replace("name: 'kafka',", `name: '${name}', ${stated}`).replace('kafka/queue', `${name}/queue`)
    await withOwnCopy(name, source, api)
    const sentence =
      `The plugin "${name}" was made with kernel API ${api} (a copy of refhir of its own); this server has 2.0.0. ` +
      'Update it, and list refhir under peerDependencies.'
    assert.is(await refusal(() => kernelOf(name)), sentence)
    // Given by an embedding host.
    const { default: given } = await import(join(server(), 'node_modules', name, 'index.js'))
    const { createKernel } = await import(join(house, 'dist/kernel/index.js'))
    assert.is(await refusal(() => createKernel({ plugins: [given], log: { level: 'silent' } })), sentence)
  })

test('a service token of another major stops the start too, by the plugin that declares it', async () => {
  await withOwnCopy(
    'tokens',
    "import { defineService } from 'refhir'\nexport const Tokens = defineService('tokens')\n",
    '1.0.0',
  )
  writePlugin(
    server(),
    'asker',
    `import { definePlugin } from 'refhir'
     import { Tokens } from 'tokens'
     export default definePlugin({ name: 'asker', uses: [Tokens], setup() {} })`,
  )
  assert.is(
    await refusal(() => kernelOf('asker')),
    'The plugin "asker" declares the service "tokens", whose token was made with kernel API 1.0.0 (another copy of refhir); ' +
      'this server has 2.0.0. Update the package of the token, and list refhir under its peerDependencies.',
  )
})

/** As a third party would write it in TypeScript. */
const TYPED = `
import { definePlugin } from 'refhir'
import { Database, sql } from 'refhir/plugins/database/service'
const insert = sql('kafka.insert', 'INSERT INTO kafka_change (id) VALUES (?)')
export default definePlugin({
  name: 'kafka',
  needs: { database: Database },
  setup({ hooks }) {
    hooks.onWrite.tapPromise('keep', async ({ next, transaction }) => transaction.run(insert, [next.id]))
    hooks.onAudit.tapPromise('keep', async ({ status, transaction }) => transaction?.run(insert, [status]))
  },
})
`

test('the transaction of a write is typed for those who import the database service, and a wrong use is refused', async () => {
  // Compiled together: a program takes as long for one file as for both.
  const wrong = TYPED.replace('[next.id]', '[next]')
  const complaints = await packed.complaints('server', { 'typed.mts': TYPED, 'wrong.mts': wrong })
  assert.equal(complaints.match(/^\S.*?\(\d+/gm), ['wrong.mts(9'], complaints)
  assert.match(complaints, /^wrong\.mts\(9,.*ResourceVersion' is not assignable to type 'SqlParam'/)
})

test.run()
