/** A plugin wraps the taps of others, and the services that others provide; without one nothing is wrapped. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { defineService, type RequestContext } from '../../kernel/index.ts'
import { kernelWith, pluginOf } from '../support/kernel-with.ts'

const NO_REQUEST = undefined as unknown as RequestContext
interface Greeting {
  say(): string
}
const Greeting = defineService<Greeting>('greeting')

const messageOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'nothing was refused',
    (error: Error) => error.message,
  )

test('each tap is wrapped once, also those of plugins in front, and its result and errors stay', async () => {
  const told: string[] = []
  let run: Parameters<Parameters<typeof pluginOf>[1]>[0]['run'] | undefined
  await kernelWith([
    pluginOf('front', ({ hooks }) => hooks.arrive.tap('first', () => undefined)),
    pluginOf('watch', ({ watchTaps }) =>
      watchTaps(({ hook, plugin, name }, fn) => (a, b, c) => {
        told.push(`${hook} ${plugin} ${name}`)
        return fn(a, b, c)
      }),
    ),
    pluginOf('behind', (host) => {
      run = host.run
      host.hooks.arrive.tap('second', () => ({ status: 204 }))
      host.hooks.authenticate.tapPromise('later', async () => {
        throw new Error('broken')
      })
    }),
  ])
  assert.equal(run?.arrive?.(NO_REQUEST), { status: 204 })
  assert.match(await messageOf(run?.authenticate?.(NO_REQUEST) as Promise<unknown>), /broken/)
  assert.equal(told, ['arrive front first', 'arrive behind second', 'authenticate behind later'])
  assert.is(run?.admit, null)
})

test('a service is decorated for all who use it, by each plugin that does, in their order', async () => {
  const greeting: Greeting = { say: () => 'hello' }
  const around =
    (mark: string) =>
    (inner: Greeting): Greeting => ({ say: () => `${mark}${inner.say()}${mark}` })
  const { kernel } = await kernelWith([
    pluginOf('inner', ({ decorate }) => decorate(Greeting, around('-'))),
    pluginOf('outer', ({ decorate }) => decorate(Greeting, around('*'))),
    pluginOf('provider', ({ provide }) => provide(Greeting, greeting)),
  ])
  assert.is(kernel.get(Greeting).say(), '*-hello-*')
})

test('a service that nobody decorates is the one that was provided', async () => {
  const greeting: Greeting = { say: () => 'hello' }
  const { kernel } = await kernelWith([pluginOf('provider', ({ provide }) => provide(Greeting, greeting))])
  assert.is(kernel.get(Greeting), greeting)
})

test('decorating what is there already stops the start, by name', async () => {
  const refused = await messageOf(
    kernelWith([
      pluginOf('provider', ({ provide }) => provide(Greeting, { say: () => 'hello' })),
      pluginOf('late', ({ decorate }) => decorate(Greeting, (one) => one)),
    ]),
  )
  assert.match(refused, /late/)
  assert.match(refused, /"greeting" is decorated after it was provided/)
})

test.run()
