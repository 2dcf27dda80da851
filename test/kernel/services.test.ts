/** Services: tokens by which plugins offer work to each other. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnyPlugin, definePlugin, defineService } from '../../kernel/index.ts'
import { kernelWith, pluginOf } from '../support/kernel-with.ts'

const Clock = defineService<{ time(): string }>('clock')
const clockmaker = definePlugin({
  name: 'clockmaker',
  provides: [Clock],
  setup: ({ provide }) => provide(Clock, { time: () => 'noon' }),
})

const refusal = async (...plugins: AnyPlugin[]): Promise<string> => {
  try {
    await kernelWith(plugins)
  } catch (error) {
    return (error as Error).message
  }
  return 'nothing was refused'
}

test('a plugin is handed what it needs, and an embedding host gets it by the token', async () => {
  let heard = ''
  const listener = definePlugin({
    name: 'listener',
    needs: { clock: Clock },
    setup({ needs }) {
      heard = needs.clock.time()
    },
  })
  const { kernel } = await kernelWith([listener, clockmaker])
  assert.is(heard, 'noon')
  assert.is(kernel.get(Clock).time(), 'noon')
})

test('a service goes by its name: another token of that name, such as that of another copy, finds it', async () => {
  const Namesake = defineService<{ time(): string }>('clock')
  const { kernel } = await kernelWith([clockmaker])
  assert.is(kernel.get(Namesake).time(), 'noon')
  assert.throws(() => kernel.get(defineService('watch')), 'No enabled plugin provides the service "watch".')
})

test('what is optional is undefined when nobody provides it, and else set up before', async () => {
  const heard: (string | undefined)[] = []
  const listener = definePlugin({
    name: 'listener',
    uses: [Clock],
    setup({ optional }) {
      heard.push(optional(Clock)?.time())
    },
  })
  await kernelWith([listener])
  await kernelWith([listener, clockmaker])
  assert.equal(heard, [undefined, 'noon'])
})

test('two enabled plugins that provide a service of one name stop the start, by their names', async () => {
  const sundial = (enabled: boolean) =>
    definePlugin({
      name: 'sundial',
      provides: [defineService<{ time(): string }>('clock')],
      enabled: () => enabled,
      setup: ({ provide }) => provide(Clock, { time: () => 'about noon' }),
    })
  assert.is(
    await refusal(clockmaker, sundial(true)),
    'The plugins "clockmaker" and "sundial" both provide the service "clock"; disable one of them.',
  )
  assert.is(await refusal(clockmaker, sundial(false)), 'nothing was refused')
})

test('a service provided twice is refused by name', async () => {
  const second = pluginOf('second', ({ provide }) => provide(Clock, { time: () => 'midnight' }))
  assert.is(
    await refusal(clockmaker, second),
    'The plugin "second" cannot be set up: The service "clock" is provided twice.',
  )
})

test('a promised service that setup does not provide is refused by name', async () => {
  const forgetful = definePlugin({ name: 'forgetful', provides: [Clock], setup: () => undefined })
  assert.is(
    await refusal(forgetful),
    'The plugin "forgetful" promised the service "clock" and did not provide it in setup.',
  )
})

test('what a plugin adds cannot be declared after setup', async () => {
  const refusals: string[] = []
  const tardy = pluginOf('tardy', ({ provide, routes, readiness }) => ({
    async start() {
      for (const late of [
        () => provide(Clock, { time: () => 'too late' }),
        () => routes(() => undefined),
        () => readiness('never', async () => true),
      ])
        try {
          late()
        } catch (error) {
          refusals.push((error as Error).message)
        }
    },
  }))
  const { kernel } = await kernelWith([tardy])
  await kernel.start()
  assert.equal(
    refusals,
    ['provide', 'routes', 'readiness'].map(
      (name) => `The plugin "tardy" calls ${name} after setup; what a plugin adds is declared in setup only.`,
    ),
  )
  await kernel.stop()
})

test.run()
