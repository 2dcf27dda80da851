/** The phases of a kernel, and what becomes of its plugins when a start fails or is interrupted. */
import { createServer } from 'node:net'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnyPlugin, definePlugin, type Lifecycle } from '../../kernel/index.ts'
import { createPhases, type Phase } from '../../kernel/phase.ts'
import probes from '../../plugins/probes/index.ts'
import { createDeadlines } from '../support/deadlines.ts'
import { kernelWith, pluginOf } from '../support/kernel-with.ts'
import { connectTo } from '../support/raw-client.ts'

const LOOPBACK = { server: { bind: '127.0.0.1:0' } }

const refused = async (work: () => Promise<unknown>): Promise<string> => {
  try {
    await work()
  } catch (error) {
    return (error as Error).message
  }
  return 'nothing was refused'
}

/** Plugins that note what is done to them. */
const noting = (lifecycles: Record<string, Lifecycle>) => {
  const notes: string[] = []
  const plugins: AnyPlugin[] = Object.entries(lifecycles).map(([name, { start, stop }]) =>
    pluginOf(name, () => ({
      start: async (signal) => {
        notes.push(`${name} starts`)
        await start?.(signal)
      },
      stop: async () => {
        notes.push(`${name} stops`)
        await stop?.()
      },
    })),
  )
  return { notes, plugins }
}

const PHASES: readonly Phase[] = ['new', 'configured', 'set-up', 'listening', 'ready', 'stopping', 'stopped', 'failed']
const WAYS: readonly (readonly Phase[])[] = [
  ['new'],
  ['new', 'configured'],
  ['new', 'configured', 'set-up'],
  ['new', 'configured', 'set-up', 'listening'],
  ['new', 'configured', 'set-up', 'listening', 'ready'],
  ['new', 'configured', 'set-up', 'ready', 'stopping'],
  ['new', 'configured', 'set-up', 'stopping', 'stopped'],
  ['new', 'configured', 'set-up', 'listening', 'failed'],
]
const LEGAL = new Set([
  'new configured',
  'configured set-up',
  'set-up listening',
  'set-up ready',
  'set-up stopping',
  'set-up failed',
  'listening ready',
  'listening stopping',
  'listening failed',
  'ready stopping',
  'ready failed',
  'stopping stopped',
  'failed stopping',
])

for (const [from, ...rest] of WAYS.map((way) => [...way].reverse() as Phase[]))
  for (const to of PHASES)
    test(`from ${from} to ${to} is ${LEGAL.has(`${from} ${to}`) ? 'a move' : 'refused by name'}`, () => {
      const phases = createPhases()
      for (const phase of [...rest].reverse().slice(1)) phases.enter(phase)
      if (rest.length > 0) phases.enter(from as Phase)
      assert.is(phases.now, from)
      if (LEGAL.has(`${from} ${to}`)) {
        phases.enter(to)
        assert.is(phases.now, to)
      } else {
        assert.throws(() => phases.enter(to), `The kernel cannot go from ${from} to ${to}.`)
        assert.is(phases.now, from)
      }
    })

test('a kernel goes from set-up through listening to ready, and through stopping to stopped', async () => {
  const seen: string[] = []
  const { kernel } = await kernelWith(
    [
      pluginOf('witness', () => ({
        start: async () => void seen.push(kernel.phase),
        stop: async () => void seen.push(kernel.phase),
      })),
    ],
    { settings: LOOPBACK },
  )
  seen.push(kernel.phase)
  await kernel.listen()
  await kernel.start()
  seen.push(kernel.phase)
  await kernel.stop()
  seen.push(kernel.phase)
  assert.equal(seen, ['set-up', 'listening', 'ready', 'stopping', 'stopped'])
})

test('setup does not start anything', async () => {
  const { notes, plugins } = noting({ a: {} })
  const { kernel } = await kernelWith(plugins)
  assert.equal(notes, [])
  await kernel.stop()
  assert.equal(notes, [])
})

test('asking twice starts once, in order, and stops once, in reverse', async () => {
  const { notes, plugins } = noting({ a: {}, b: {} })
  const { kernel } = await kernelWith(plugins)
  await Promise.all([kernel.start(), kernel.start()])
  await Promise.all([kernel.stop(), kernel.stop()])
  assert.equal(notes, ['a starts', 'b starts', 'b stops', 'a stops'])
})

test('a kernel that was started may open its port later, and is ready all the time', async () => {
  const { kernel } = await kernelWith([probes], { settings: LOOPBACK })
  await kernel.start()
  const address = await kernel.listen()
  assert.is(kernel.phase, 'ready')
  assert.is((await fetch(`${address}/readyz`)).status, 200)
  await kernel.stop()
})

test('listening twice, and listening or starting after the stop, is refused', async () => {
  const { notes, plugins } = noting({ a: {} })
  const { kernel } = await kernelWith(plugins, { settings: LOOPBACK })
  await kernel.listen()
  assert.match(await refused(() => kernel.listen()), /^The kernel cannot go from (listening|ready) to listening\.$/)
  await kernel.stop()
  assert.is(await refused(() => kernel.listen()), 'The kernel cannot go from stopped to listening.')
  const unstarted = (await kernelWith(noting({ a: {} }).plugins)).kernel
  await unstarted.stop()
  assert.is(await refused(() => unstarted.start()), 'The kernel cannot go from stopped to ready.')
  assert.equal(notes, ['a starts', 'a stops'])
})

test('two who listen at once: one of them opens the port', async () => {
  const { kernel } = await kernelWith([], { settings: LOOPBACK })
  const both = await Promise.allSettled([kernel.listen(), kernel.listen()])
  assert.equal(
    both.map(({ status }) => status),
    ['fulfilled', 'rejected'],
  )
  await kernel.stop()
})

test('a port that is taken is refused, nothing starts, and once it is free the kernel can listen', async () => {
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  const { port } = other.address() as { port: number }
  const { notes, plugins } = noting({ a: {} })
  const { kernel } = await kernelWith(plugins, { settings: { server: { bind: `127.0.0.1:${port}` } } })
  assert.match(await refused(() => kernel.listen()), 'EADDRINUSE')
  assert.is(kernel.phase, 'set-up')
  assert.equal(notes, [])
  await new Promise((resolve) => other.close(resolve))
  assert.is(await kernel.listen(), `http://127.0.0.1:${port}`)
  await kernel.stop()
})

test('the name localhost opens one port, which stop closes', async () => {
  const { kernel } = await kernelWith([probes], { settings: { server: { bind: 'localhost:0' } } })
  const address = await kernel.listen()
  assert.match(address, /^http:\/\/(127\.0\.0\.1|\[::1\]):\d+$/)
  assert.is((await fetch(`${address}/livez`)).status, 200)
  await kernel.stop()
})

test('a start that fails rejects by the name of the plugin, after what had started was stopped in reverse', async () => {
  let signal: AbortSignal | undefined
  const { notes, plugins } = noting({
    a: {
      start: async (given) => {
        signal = given
      },
    },
    b: {
      start: async () => {
        throw new Error('no disk\n  of that name')
      },
    },
    c: {},
  })
  const { kernel } = await kernelWith([...plugins, probes])
  assert.is(await refused(() => kernel.start()), 'The plugin "b" cannot start: no disk of that name')
  assert.is(kernel.phase, 'failed')
  assert.equal(notes, ['a starts', 'b starts', 'b stops', 'a stops'])
  assert.ok(signal?.aborted, 'what a left running is told to end')
  const ready = await kernel.inject('/readyz')
  assert.is(ready.statusCode, 503)
  assert.equal(ready.json(), { status: 'unavailable', reason: 'the start failed' })
  const other = await kernel.inject('/Patient/1')
  assert.is(other.statusCode, 503)
  assert.match(other.json().issue[0].diagnostics, 'could not start')
  assert.is((await kernel.inject('/livez')).statusCode, 200)
  assert.is(await refused(() => kernel.start()), 'The plugin "b" cannot start: no disk of that name')
  await kernel.stop()
  assert.is(kernel.phase, 'stopped')
  assert.equal(notes.length, 4)
})

test('a start that throws before it promises is a failed start', async () => {
  const plugin = definePlugin({
    name: 'hasty',
    setup: () => ({
      start() {
        throw new Error('at once')
      },
    }),
  })
  const { kernel } = await kernelWith([plugin])
  assert.is(await refused(() => kernel.start()), 'The plugin "hasty" cannot start: at once')
})

test('an error without a message is told by its code', async () => {
  const { plugins } = noting({
    a: { start: () => Promise.reject(Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })) },
  })
  const { kernel } = await kernelWith(plugins)
  assert.is(await refused(() => kernel.start()), 'The plugin "a" cannot start: ECONNREFUSED')
})

test('a start that fails behind an open port does not end the process, and /readyz stays 503', async () => {
  const { plugins } = noting({ a: { start: () => Promise.reject(new Error('no')) } })
  const { kernel } = await kernelWith([...plugins, probes], { settings: LOOPBACK })
  const address = await kernel.listen()
  assert.is(await refused(() => kernel.start()), 'The plugin "a" cannot start: no')
  assert.is((await fetch(`${address}/readyz`)).status, 503)
  await kernel.stop()
})

test('a stop while starting aborts the signal, waits for the plugin, starts no other and stops in reverse', async () => {
  const begun = Promise.withResolvers<void>()
  const { notes, plugins } = noting({
    a: {},
    b: {
      start: (signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('gave up')))
          begun.resolve()
        }),
    },
    c: {},
  })
  const { kernel } = await kernelWith(plugins)
  const starting = refused(() => kernel.start())
  await begun.promise
  await kernel.stop()
  assert.is(await starting, 'The server was stopped before it was ready.')
  assert.is(kernel.phase, 'stopped')
  assert.equal(notes, ['a starts', 'b starts', 'b stops', 'a stops'])
})

test('a start that ends well after the stop began is stopped too, and the kernel never gets ready', async () => {
  const begun = Promise.withResolvers<void>()
  const finish = Promise.withResolvers<void>()
  const { notes, plugins } = noting({
    deaf: {
      start: () => {
        begun.resolve()
        return finish.promise
      },
    },
    next: {},
  })
  const { kernel } = await kernelWith(plugins)
  const starting = refused(() => kernel.start())
  await begun.promise
  const stopping = kernel.stop()
  finish.resolve()
  await stopping
  assert.is(await starting, 'The server was stopped before it was ready.')
  assert.equal(notes, ['deaf starts', 'deaf stops'])
})

test('a stop at the very moment the last plugin has started leaves the kernel stopped', async () => {
  const { kernel } = await kernelWith(noting({ a: {} }).plugins)
  const starting = refused(() => kernel.start())
  for (let turn = 0; turn < 3; turn += 1) await Promise.resolve()
  await kernel.stop()
  assert.is(kernel.phase, 'stopped')
  assert.ok(['nothing was refused', 'The server was stopped before it was ready.'].includes(await starting))
})

test('a start that heeds no signal holds the stop until the deadline only, and is logged by name', async () => {
  const deadlines = createDeadlines()
  const begun = Promise.withResolvers<void>()
  const { notes, plugins } = noting({
    deaf: {
      start: () => {
        begun.resolve()
        return new Promise(() => undefined)
      },
    },
  })
  const { kernel, lines } = await kernelWith(plugins, { clock: deadlines.clock })
  kernel.start().catch(() => undefined)
  await begun.promise
  const stopping = kernel.stop()
  assert.equal(deadlines.asked, [8_000, 10_000])
  deadlines.pass(10_000)
  await stopping
  assert.is(kernel.phase, 'stopped')
  assert.equal(notes, ['deaf starts', 'deaf stops'])
  assert.ok(lines.some(({ level, plugin, msg }) => level === 'error' && plugin === 'deaf' && /starting/.test(msg)))
})

test('a stop right after listen was asked for leaves no port open', async () => {
  const { kernel } = await kernelWith([], { settings: LOOPBACK })
  const listening = kernel.listen().catch((error: Error) => error.message)
  await kernel.stop()
  assert.is(await listening, 'The server was stopped before it was ready.')
  assert.is(kernel.phase, 'stopped')
})

test('whenever a stop comes while the port is being opened, listen ends and no port stays open', async () => {
  for (const turns of [0, 5, 10, 20, 30, 40, 50, 60, 80, 100, 120, 160, 320]) {
    const { kernel } = await kernelWith([probes], { settings: { server: { bind: 'localhost:0' } } })
    const listening = kernel.listen().catch((error: Error) => error)
    for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate)
    await kernel.stop()
    const address = await listening
    if (address instanceof Error) assert.match(address.message, 'stopped before it was ready')
    else assert.match(await refused(() => connectTo(address)), 'ECONNREFUSED')
  }
})

test('an async setup is refused by name, and its own failure does not end the process', async () => {
  const asynchronous = (async () => {
    throw new Error('unheard')
  }) as unknown as AnyPlugin['setup']
  assert.is(
    await refused(() => kernelWith([pluginOf('waiting', asynchronous)])),
    'The plugin "waiting" cannot be set up: setup must not be async; what takes time belongs into the start it returns',
  )
  await new Promise(setImmediate)
})

test('a setup that returns something else than a lifecycle is refused by name', async () => {
  const returning = (() => () => undefined) as unknown as AnyPlugin['setup']
  assert.match(await refused(() => kernelWith([pluginOf('functional', returning)])), '"functional" cannot be set up')
})

test.run()
