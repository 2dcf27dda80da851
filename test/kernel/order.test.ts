/** The order in which plugins are set up. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnyPlugin, definePlugin, defineService, type Service } from '../../kernel/index.ts'
import { kernelWith } from '../support/kernel-with.ts'

const A = defineService<string>('a-work')
const B = defineService<string>('b-work')
const C = defineService<string>('c-work')

interface Declared {
  readonly needs?: readonly Service<string>[]
  readonly uses?: readonly Service<string>[]
  readonly provides?: readonly Service<string>[]
  readonly enabled?: boolean
}

const plugin = (name: string, { needs = [], uses = [], provides = [], enabled = true }: Declared = {}): AnyPlugin =>
  definePlugin({
    name,
    needs: Object.fromEntries(needs.map((service) => [service.name, service])),
    uses,
    provides,
    enabled: () => enabled,
    setup({ provide }) {
      for (const service of provides) provide(service, name)
    },
  })

const orderOf = async (...plugins: AnyPlugin[]): Promise<string> => {
  const { kernel } = await kernelWith(plugins)
  return (await kernel.describe()).map(({ name, enabled }) => (enabled ? name : `(${name})`)).join(' ')
}

const refusal = async (...plugins: AnyPlugin[]): Promise<string> => {
  try {
    await kernelWith(plugins)
  } catch (error) {
    return (error as Error).message
  }
  return 'nothing was refused'
}

test('without needs the given order stays', async () => {
  assert.is(await orderOf(plugin('z'), plugin('m'), plugin('a')), 'z m a')
})

test('a plugin comes after those that provide what it needs, however deep', async () => {
  const c = plugin('c', { needs: [B] })
  const b = plugin('b', { needs: [A], provides: [B] })
  const a = plugin('a', { provides: [A] })
  assert.is(await orderOf(c, plugin('x'), b, a), 'a b c x')
})

test('a plugin comes after those whose service it uses if they are there', async () => {
  const user = plugin('user', { uses: [A] })
  assert.is(await orderOf(user, plugin('a', { provides: [A] })), 'a user')
  assert.is(await orderOf(user, plugin('other')), 'user other')
})

test('a circle is refused and printed with its arrows', async () => {
  const a = plugin('a', { needs: [C], provides: [A] })
  const b = plugin('b', { needs: [A], provides: [B] })
  const c = plugin('c', { needs: [B], provides: [C] })
  assert.is(
    await refusal(plugin('outside', { uses: [A] }), a, b, c),
    'The plugins need one another in a circle: a → c → b → a.',
  )
})

test('a circle through an optional service is one too, and so is a plugin that needs itself', async () => {
  const a = plugin('a', { uses: [B], provides: [A] })
  const b = plugin('b', { needs: [A], provides: [B] })
  assert.is(await refusal(a, b), 'The plugins need one another in a circle: a → b → a.')
  assert.is(
    await refusal(plugin('a', { needs: [A], provides: [A] })),
    'The plugins need one another in a circle: a → a.',
  )
})

test('a missing need is refused, naming who needs what; a disabled plugin provides nothing', async () => {
  const message = 'The plugin "b" needs the service "a-work", which no enabled plugin provides.'
  assert.is(await refusal(plugin('b', { needs: [A] })), message)
  assert.is(await refusal(plugin('a', { provides: [A], enabled: false }), plugin('b', { needs: [A] })), message)
})

test('a disabled plugin is listed last and not set up', async () => {
  assert.is(await orderOf(plugin('off', { enabled: false }), plugin('on')), 'on (off)')
})

test('two plugins of one name are refused, also when one is disabled, and so is one called kernel', async () => {
  assert.is(await refusal(plugin('a'), plugin('b'), plugin('a')), 'Two plugins are named "a".')
  assert.is(await refusal(plugin('a'), plugin('a', { enabled: false })), 'Two plugins are named "a".')
  assert.is(await refusal(plugin('kernel')), 'Two plugins are named "kernel".')
})

test('a plugin whose enabled() throws is refused by name', async () => {
  const unsure = definePlugin({
    name: 'unsure',
    enabled() {
      throw new Error('who knows?')
    },
    setup: () => undefined,
  })
  assert.is(await refusal(unsure), 'The plugin "unsure" cannot be set up: who knows?')
})

test('only some are started, with what they need; the others are set up and stay as they are', async () => {
  const started: string[] = []
  const withStart = (name: string, declared: Declared): AnyPlugin => {
    const made = plugin(name, declared)
    return definePlugin({
      ...made,
      setup(host) {
        made.setup(host)
        return { start: async () => void started.push(name) }
      },
    })
  }
  const { kernel } = await kernelWith(
    [
      withStart('base', { provides: [A] }),
      withStart('middle', { needs: [A], provides: [B] }),
      withStart('used', { provides: [C] }),
      withStart('wanted', { needs: [B], uses: [C] }),
      withStart('other', { needs: [A] }),
    ],
    { only: ['wanted'] },
  )
  await kernel.start()
  assert.equal(started, ['base', 'middle', 'used', 'wanted'])
  await kernel.stop()
})

test.run()
