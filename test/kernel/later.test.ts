/** Services that are asked for before they are there, without weight in the order: `host.later`. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnyPlugin, definePlugin, defineService } from '../../kernel/index.ts'
import { kernelWith, pluginOf } from '../support/kernel-with.ts'

const Clock = defineService<{ time(): string }>('clock')
const Watcher = defineService<{ watch(): string }>('watcher')
const clockmaker = definePlugin({
  name: 'clockmaker',
  provides: [Clock],
  needs: { watcher: Watcher },
  setup: ({ provide, needs: { watcher } }) => provide(Clock, { time: () => `${watcher.watch()} at noon` }),
})

const refusal = async (...plugins: AnyPlugin[]): Promise<string> => {
  try {
    await kernelWith(plugins)
  } catch (error) {
    return (error as Error).message
  }
  return 'nothing was refused'
}

test('two plugins use each other: one needs, the other asks later', async () => {
  let told: () => string = () => 'nothing'
  const watchman = definePlugin({
    name: 'watchman',
    provides: [Watcher],
    setup({ provide, later }) {
      const clock = later(Clock)
      provide(Watcher, { watch: () => 'watched' })
      told = () => clock().time()
    },
  })
  await kernelWith([clockmaker, watchman])
  assert.is(told(), 'watched at noon')
})

test('it cannot be asked for while plugins are set up, even where it is there already', async () => {
  const watchman = definePlugin({
    name: 'watchman',
    provides: [Watcher],
    setup: ({ provide }) => provide(Watcher, { watch: () => 'watched' }),
  })
  const hasty = pluginOf('hasty', ({ later }) => void later(Watcher)())
  assert.is(
    await refusal(watchman, hasty),
    'The plugin "hasty" cannot be set up: The plugin "hasty" asks for the service "watcher" in its setup; what later() gives is good once all plugins are set up.',
  )
})

test('what nobody provides stops the start, and so does a token of another major', async () => {
  const lonely = pluginOf('lonely', ({ later }) => void later(Clock))
  assert.is(await refusal(lonely), 'The plugin "lonely" needs the service "clock", which no enabled plugin provides.')
  const foreign = { name: 'clock', [Symbol.for('refhir.api')]: '1.0.0' }
  const misled = pluginOf('misled', ({ later }) => void later(foreign))
  assert.match(
    await refusal(misled),
    /"misled" declares the service "clock", whose token was made with kernel API 1\.0\.0/,
  )
})

test('it is asked for in setup only', async () => {
  let ask: () => unknown = () => undefined
  const late = pluginOf('late', ({ later }) => {
    ask = () => later(Clock)
  })
  await kernelWith([late])
  assert.throws(ask, 'The plugin "late" calls later after setup; what a plugin adds is declared in setup only.')
})

test.run()
