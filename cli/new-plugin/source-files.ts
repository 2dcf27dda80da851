/** The sources of a new plugin: it counts requests, and shows the counts at an address. */

export interface PluginNames {
  /** The name of the package, which may have a scope. */
  readonly package: string
  /** The name of the plugin: that of the package without its scope. */
  readonly plugin: string
}

/** The name of this package, which a plugin imports. */
const REFHIR = 'refhir'

/** A key of an object, quoted only where it has to be. */
const keyOf = (name: string): string => (/^[a-z0-9]+$/.test(name) ? name : `'${name}'`)

export const pluginSource = ({
  plugin,
}: PluginNames): string => `import { definePlugin, mountAdmin, Type } from '${REFHIR}'

/** [plugin.${plugin}] in server.toml. */
const Settings = Type.Object({
  slow_ms: Type.Integer({
    default: 1000,
    minimum: 0,
    description: 'Milliseconds from which on a request counts as slow.',
  }),
})

export default definePlugin({
  name: '${plugin}',
  description: 'Counts requests, and those that are slow',
  api: '^2.0.0',
  config: { ${keyOf(plugin)}: Settings },
  setup({ config: { ${keyOf(plugin)}: ${/^[a-z0-9]+$/.test(plugin) ? `${plugin}: settings` : 'settings'} }, hooks, routes, run }) {
    let requests = 0
    let slow = 0
    hooks.meter.tap('count requests', ({ duration }) => {
      requests += 1
      if (duration >= settings.slow_ms) slow += 1
    })
    // Where callers have tokens, mountAdmin shows an address to those who may read the whole audit trail.
    routes(async (app) =>
      mountAdmin(app, run, {
        path: '/_${plugin}',
        answer: async () => ({ type: 'application/json', body: JSON.stringify({ requests, slow }) }),
      }),
    )
  },
})
`

export const testSource = ({
  plugin,
}: PluginNames): string => `/** The plugin in a server of its own, asked over HTTP. It is loaded as an operator does it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createKernel } from '${REFHIR}'

/** Calls \`use\` with the address of a server that has loaded the plugin. */
const withServer = async (slow_ms: number, use: (address: string) => Promise<void>): Promise<void> => {
  const kernel = await createKernel({
    plugins: [],
    folder: import.meta.dirname,
    settings: {
      server: { bind: '127.0.0.1:0' },
      plugins: { load: ['./index.js'] },
      plugin: { ${keyOf(plugin)}: { slow_ms } },
    },
    log: { level: 'silent' },
  })
  try {
    const address = await kernel.listen()
    await kernel.start()
    await use(address)
  } finally {
    await kernel.stop()
  }
}

/** An answer is counted when its last byte has left, which may be after a client has read it: asks until it is. */
const countsAfter = async (address: string, requests: number): Promise<unknown> => {
  const counts = (await (await fetch(\`\${address}/_${plugin}\`)).json()) as { requests: number }
  return counts.requests >= requests ? counts : countsAfter(address, requests)
}

const LIMITED = { timeout: 30_000 }

test('requests are counted', LIMITED, async () => {
  await withServer(60_000, async (address) => {
    assert.equal((await fetch(\`\${address}/_${plugin}\`)).status, 200)
    assert.partialDeepStrictEqual(await countsAfter(address, 1), { slow: 0 })
  })
})

test('those that take as long as slow_ms are counted as slow', LIMITED, async () => {
  await withServer(0, async (address) => {
    await fetch(\`\${address}/_${plugin}\`)
    const { requests, slow } = (await countsAfter(address, 1)) as { requests: number; slow: number }
    assert.equal(slow, requests)
  })
})

test('a setting that is out of range stops the start', async () => {
  await assert.rejects(
    withServer(-1, async () => undefined),
    /plugin\\.${plugin}.*slow_ms/,
  )
})
`
