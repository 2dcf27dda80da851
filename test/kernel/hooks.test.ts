/** Hooks: who is asked, in which order, what a return value means, and who is to blame for what a tap throws. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createHooks } from '../../kernel/hooks.ts'
import {
  type AnyPlugin,
  defineError,
  definePlugin,
  defineService,
  type Hooks,
  type RequestContext,
  Ruling,
  type Runners,
} from '../../kernel/index.ts'
import { kernelWith, pluginOf } from '../support/kernel-with.ts'

const NO_REQUEST = undefined as unknown as RequestContext
const READ = { kind: 'read', type: 'Patient', id: 'p1' } as const

/** The frozen runners of a kernel in which each plugin taps what it likes. */
const runnersOf = async (taps: Record<string, (hooks: Hooks) => void>, more: readonly AnyPlugin[] = []) => {
  let run: Runners | undefined
  const observer = pluginOf('observer', (host) => {
    run = host.run
  })
  const tapping = Object.entries(taps).map(([name, tap]) => pluginOf(name, ({ hooks }) => tap(hooks)))
  const bare = await kernelWith([...tapping, ...more, observer])
  return { ...bare, run: run! }
}

const refusedSetup = async (setup: (hooks: Hooks) => void): Promise<string> => {
  try {
    await kernelWith([pluginOf('careless', ({ hooks }) => setup(hooks))])
  } catch (error) {
    return (error as Error).message
  }
  return 'nothing was refused'
}

const thrownBy = async (work: () => unknown): Promise<Error & { plugin?: string; hook?: string }> => {
  try {
    await work()
  } catch (error) {
    return error as Error
  }
  throw new Error('nothing was thrown')
}

test('a hook nobody taps is null, and one that is tapped is a function', async () => {
  const { run } = await runnersOf({ one: (hooks) => hooks.admit.tap('count', () => undefined) })
  const { admit, ...others } = run
  assert.type(admit, 'function')
  assert.equal(others, {
    arrive: null,
    beforeRequest: null,
    authenticate: null,
    relay: null,
    authorize: null,
    onWrite: null,
    onCommit: null,
    onAudit: null,
    meter: null,
  })
})

test('an interceptor without a tap leaves the hook null', async () => {
  const { run } = await runnersOf({ one: (hooks) => hooks.admit.intercept({ call: () => undefined }) })
  assert.is(run.admit, null)
})

test('runners cannot be replaced', async () => {
  const { run } = await runnersOf({})
  assert.throws(() => {
    ;(run as { admit: unknown }).admit = () => undefined
  }, /read.only/)
})

test('a hook called before all plugins are set up is refused', async () => {
  const early = pluginOf('early', ({ run }) => void run.admit?.(NO_REQUEST))
  const error = await thrownBy(() => kernelWith([early]))
  assert.is(
    error.message,
    'The plugin "early" cannot be set up: A hook was called before all plugins were set up; call run.* at request time only.',
  )
})

test('authenticate: the first Caller wins and later taps are not asked', async () => {
  const asked: string[] = []
  const { run } = await runnersOf({
    none: (hooks) =>
      hooks.authenticate.tapPromise('know nobody', async () => {
        asked.push('none')
        return undefined
      }),
    first: (hooks) =>
      hooks.authenticate.tapPromise('know a client', async () => {
        asked.push('first')
        return { kind: 'client', client: 'first' }
      }),
    second: (hooks) =>
      hooks.authenticate.tap('know another', () => {
        asked.push('second')
        return { kind: 'client', client: 'second' }
      }),
  })
  assert.equal(await run.authenticate!(NO_REQUEST), { kind: 'client', client: 'first' })
  assert.equal(asked, ['none', 'first'])
})

test('sync, promise and callback taps of one async hook run in the order of their plugins, each after the other', async () => {
  const order: string[] = []
  const { run } = await runnersOf({
    a: (hooks) =>
      hooks.authorize.tapPromise('a', async () => {
        order.push('a begins')
        await Promise.resolve()
        order.push('a ends')
      }),
    b: (hooks) => hooks.authorize.tap('b', () => void order.push('b')),
    c: (hooks) =>
      hooks.authorize.tapAsync('c', (_request, _interaction, _ruling, done) => {
        queueMicrotask(() => {
          order.push('c')
          done()
        })
      }),
    d: (hooks) => hooks.authorize.tap('d', () => void order.push('d')),
  })
  await run.authorize!(NO_REQUEST, READ, new Ruling())
  assert.equal(order, ['a begins', 'a ends', 'b', 'c', 'd'])
})

test('order comes from needs, not from the list of plugins', async () => {
  const order: string[] = []
  const Door = defineService<string>('door')
  const tapping = (name: string, declared: Partial<AnyPlugin>, provide = false): AnyPlugin =>
    definePlugin({
      name,
      ...declared,
      setup(host) {
        if (provide) host.provide(Door, 'open')
        host.hooks.admit.tap(name, () => void order.push(name))
      },
    })
  const { run } = await runnersOf({}, [
    tapping('needy', { needs: { door: Door } }),
    tapping('carpenter', { provides: [Door] }, true),
  ])
  await run.admit!(NO_REQUEST)
  assert.equal(order, ['carpenter', 'needy'])
})

test('every argument of a hook reaches every kind of tap', async () => {
  const given = { request: { id: 'r1' } as RequestContext, ruling: new Ruling() }
  const seen: unknown[][] = []
  const note = (...args: unknown[]): void => void seen.push(args.slice(0, 3))
  const { run } = await runnersOf({
    sync: (hooks) => hooks.authorize.tap('note', note),
    promise: (hooks) => hooks.authorize.tapPromise('note', async (...args) => note(...args)),
    callback: (hooks) =>
      hooks.authorize.tapAsync('note', (request, interaction, ruling, done) => {
        note(request, interaction, ruling)
        done()
      }),
  })
  await run.authorize!(given.request, READ, given.ruling)
  assert.is(seen.length, 3)
  for (const args of seen) {
    assert.is(args[0], given.request)
    assert.is(args[1], READ)
    assert.is(args[2], given.ruling)
  }
})

test('a tap that calls back is given its callback right after the arguments of the hook', async () => {
  const { run } = await runnersOf({
    callback: (hooks) =>
      hooks.authenticate.tapAsync('know', (request, done) => done(null, { kind: 'client', client: request.id })),
  })
  assert.equal(await run.authenticate!({ id: 'c1' } as RequestContext), { kind: 'client', client: 'c1' })
})

test('no hook has more arguments than its runner passes on', () => {
  for (const [name, hook] of Object.entries(createHooks()))
    assert.ok((hook as unknown as { _args: string[] })._args.length <= 3, name)
})

test('a tap can ask to come before another by its name', async () => {
  const order: string[] = []
  const { run } = await runnersOf({
    late: (hooks) => hooks.admit.tap('count', () => void order.push('count')),
    early: (hooks) => hooks.admit.tap({ name: 'look', before: 'count' }, () => void order.push('look')),
  })
  await run.admit!(NO_REQUEST)
  assert.equal(order, ['look', 'count'])
})

for (const [kind, tap] of [
  ['tap', (hooks: Hooks, fail: () => never) => hooks.authorize.tap('fail', fail)],
  ['tapPromise', (hooks: Hooks, fail: () => never) => hooks.authorize.tapPromise('fail', async () => fail())],
  [
    'tapPromise, thrown before there is a promise',
    (hooks: Hooks, fail: () => never) => hooks.authorize.tapPromise('fail', fail),
  ],
  ['tapAsync', (hooks: Hooks, fail: () => never) => hooks.authorize.tapAsync('fail', fail)],
  [
    'tapAsync, called back with an error',
    (hooks: Hooks, fail: () => never) =>
      hooks.authorize.tapAsync('fail', (_request, _interaction, _ruling, done) => {
        try {
          fail()
        } catch (error) {
          setImmediate(() => done(error as Error))
        }
      }),
  ],
] as const)
  test(`what a tap throws names its plugin and the hook, and later taps do not run: ${kind}`, async () => {
    let after = false
    const boom = new Error('boom')
    const { run } = await runnersOf({
      // Not the first, so that tapable is already inside a callback.
      calm: (hooks) => hooks.authorize.tapPromise('calm', async () => undefined),
      faulty: (hooks) =>
        tap(hooks, () => {
          throw boom
        }),
      after: (hooks) =>
        hooks.authorize.tap('after', () => {
          after = true
        }),
    })
    const error = await thrownBy(() => run.authorize!(NO_REQUEST, READ, new Ruling()))
    assert.is(error, boom)
    assert.is(error.plugin, 'faulty')
    assert.is(error.hook, 'authorize')
    assert.not(after)
  })

test('a refusal made in a table keeps its status when a tap throws it', async () => {
  const Closed = defineError('door/closed', 403, 'forbidden', 'The door is closed.')
  const { run } = await runnersOf({
    door: (hooks) =>
      hooks.authorize.tap('look', () => {
        throw Closed()
      }),
  })
  const error = await thrownBy(() => run.authorize!(NO_REQUEST, READ, new Ruling()))
  assert.is((error as { status?: number }).status, 403)
  assert.is(error.plugin, 'door')
})

test('a thrown value that is no error becomes one that names the plugin; a frozen error is thrown as it is', async () => {
  const frozen = Object.freeze(new Error('frozen'))
  const { run } = await runnersOf({
    words: (hooks) =>
      hooks.admit.tap('throw words', () => {
        throw 'just words'
      }),
    ice: (hooks) =>
      hooks.beforeRequest.tap('throw ice', () => {
        throw frozen
      }),
  })
  const words = await thrownBy(() => run.admit!(NO_REQUEST))
  assert.instance(words, Error)
  assert.is(words.plugin, 'words')
  assert.is(words.message, 'it threw just words')
  assert.is(await thrownBy(() => run.beforeRequest!(NO_REQUEST)), frozen)
})

test('an async function given to tap() is refused in setup: nobody would await its refusal', async () => {
  assert.is(
    await refusedSetup((hooks) => hooks.authorize.tap('refuse', (async () => undefined) as () => void)),
    'The plugin "careless" cannot be set up: The plugin "careless" taps the hook "authorize" with tap() and a function that returns a promise; use tapPromise().',
  )
  assert.match(
    await refusedSetup((hooks) => hooks.meter.tap('send', (async () => undefined) as () => void)),
    'hook "meter" with tap() and a function that returns a promise; this hook waits for nobody.',
  )
})

test('a promise returned to tap() fails the request instead of letting it through', async () => {
  const later: () => unknown = () => Promise.reject(new Error('refused, too late'))
  const { run } = await runnersOf({ careless: (hooks) => hooks.admit.tap('refuse', later as () => undefined) })
  const error = await thrownBy(() => run.admit!(NO_REQUEST))
  assert.match(error.message, 'use tapPromise()')
  assert.is(error.plugin, 'careless')
})

test('onCommit and meter take sync taps only', async () => {
  for (const method of ['tapPromise', 'tapAsync'])
    for (const hook of ['onCommit', 'meter'] as const)
      assert.match(
        await refusedSetup((hooks) => (hooks[hook] as any)[method]('send', () => undefined)),
        /^The plugin "careless" cannot be set up: tapPromise is not supported on a SyncHook$/,
      )
})

for (const hook of ['onCommit', 'meter'] as const)
  test(`${hook}: a tap that throws is logged by plugin and hook, and the next ones run`, async () => {
    const ran: string[] = []
    const tapping = (name: string, then: () => unknown) => (hooks: Hooks) =>
      hooks[hook].tap(name, () => {
        ran.push(name)
        return then() as undefined
      })
    const { run, lines } = await runnersOf({
      first: tapping('first', () => undefined),
      faulty: tapping('faulty', () => {
        throw new Error('boom')
      }),
      promising: tapping('promising', () => Promise.reject(new Error('nobody awaits this'))),
      last: tapping('last', () => undefined),
    })
    run[hook]!({} as never)
    run[hook]!({} as never)
    assert.equal(ran, ['first', 'faulty', 'promising', 'last', 'first', 'faulty', 'promising', 'last'])
    assert.equal(
      lines.map(({ level, plugin, hook: named, err }) => [level, plugin, named, err.message.slice(0, 20)]),
      [
        ['error', 'faulty', hook, 'boom'],
        ['error', 'promising', hook, 'The plugin "promisin'],
        ['error', 'faulty', hook, 'boom'],
        ['error', 'promising', hook, 'The plugin "promisin'],
      ],
    )
  })

test('a tap after setup is refused by name, also in start and in the setup of another plugin', async () => {
  let kept: Hooks | undefined
  const refusals: string[] = []
  const late = (where: string): void => {
    for (const method of ['tap', 'tapPromise', 'tapAsync', 'intercept'] as const)
      try {
        ;(kept!.admit[method] as (...args: unknown[]) => void)({ name: 'late' }, () => undefined)
      } catch (error) {
        refusals.push(`${where}: ${(error as Error).message}`)
      }
  }
  const tardy = pluginOf('tardy', ({ hooks }) => {
    kept = hooks
    return { start: async () => late('start') }
  })
  const { kernel } = await kernelWith([tardy, pluginOf('other', () => late('setup of another'))])
  await kernel.start()
  const message = 'The plugin "tardy" taps the hook "admit" after setup; taps are taken in setup only.'
  assert.equal(refusals, [...Array(4).fill(`setup of another: ${message}`), ...Array(4).fill(`start: ${message}`)])
  await kernel.stop()
})

test('withOptions of a hook carries the name of the plugin too', async () => {
  const { run } = await runnersOf({
    wrapped: (hooks) =>
      hooks.admit.withOptions({ name: 'ignored' } as never).tap('throw', () => {
        throw new Error('boom')
      }),
  })
  assert.is((await thrownBy(() => run.admit!(NO_REQUEST))).plugin, 'wrapped')
})

/** What Fastify says is mounted for GET /here, in a host app of ours. */
const mountedFor = async (tap: (hooks: Hooks) => void): Promise<string> => {
  const { default: fastify } = await import('fastify')
  const { kernel } = await kernelWith([
    pluginOf('here', ({ hooks, routes }) => {
      tap(hooks)
      routes((app, _options, done) => {
        app.get('/here', async () => 'here')
        done()
      })
    }),
  ])
  const host = fastify()
  host.register(kernel.fastify)
  await host.ready()
  const printed = host.printRoutes({ includeHooks: true, commonPrefix: false })
  await host.close()
  return printed
}

test('no Fastify hook is mounted for a kernel hook that nobody taps', async () => {
  const unused = await mountedFor(() => undefined)
  assert.not.match(unused, 'runRequestHooks')
  assert.not.match(unused, 'onResponse')
  const used = await mountedFor((hooks) => hooks.admit.tap('count', () => undefined))
  assert.match(used, 'runRequestHooks')
})

test('nobody listens to the end of an answer when nobody taps meter', async () => {
  const listenersWith = async (tap: (hooks: Hooks) => void): Promise<readonly number[]> => {
    const { kernel } = await kernelWith([
      pluginOf('here', ({ hooks, routes }) => {
        tap(hooks)
        routes((app, _options, done) => {
          app.get('/here', async (_request, { raw }) => [raw.listenerCount('finish'), raw.listenerCount('close')])
          done()
        })
      }),
    ])
    await kernel.start()
    const answer = await kernel.inject('/here')
    await kernel.stop()
    return answer.json()
  }
  const [finish = 0, close = 0] = await listenersWith(() => undefined)
  const used = await listenersWith((hooks) => hooks.meter.tap('count', () => undefined))
  assert.equal(used, [finish, close + 1])
})

test.run()
