/** Serving until a signal: what is printed, where it goes, and the exit codes. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { defineError, type Host, type Lifecycle } from '../../kernel/index.ts'
import { shop } from '../support/shop.ts'
import { createWorld, type TestWorld, type TestWorldOptions } from '../support/world.ts'

const BIND = ['--bind', '127.0.0.1:0']
const addressIn = (text: string): string => /http:\/\/[^\s/"]+/.exec(text)?.[0] ?? ''

/** Sends the signals when the text is written. */
const signalAt =
  (part: string, ...signals: ('SIGINT' | 'SIGTERM')[]) =>
  (world: TestWorld, text: string) => {
    if (text.includes(part)) for (const signal of signals) world.send(signal)
  }

test('it serves without a command, prints JSON lines, and a signal ends it with exit code 0', async () => {
  let answered: unknown
  const world = createWorld({
    argv: BIND,
    plugins: [shop()],
    onWrite: async ({ send }, text) => {
      if (!text.includes('"ready"')) return
      answered = await (await fetch(`${addressIn(text)}/metadata`)).json()
      send('SIGTERM')
    },
  })
  const { code, stdout, stderr } = await world.run()
  world.remove()
  assert.is(code, 0)
  assert.equal(answered, { shop: true })
  assert.is(stderr, '')
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.equal(
    lines.map((line) => line.msg),
    ['listening', 'ready', 'stopping'],
  )
  assert.match(lines[0].address, /^http:\/\/127\.0\.0\.1:\d+$/)
  assert.is(lines[1].try, `curl ${lines[0].address}/metadata`)
})

test('in a terminal it prints short lines and a request to try', async () => {
  const world = createWorld({
    argv: BIND,
    plugins: [shop()],
    terminal: true,
    onWrite: signalAt('Ready', 'SIGINT'),
  })
  const { code, stdout } = await world.run()
  world.remove()
  assert.is(code, 0)
  assert.match(stdout, /^refhir \S+ listens on http:\/\/127\.0\.0\.1:\d+ and is starting\.\n/)
  assert.match(stdout, /Ready\. Try: curl http:\/\/127\.0\.0\.1:\d+\/metadata\n/)
  assert.not.match(stdout, '{"level"')
})

test('in a terminal log lines are for people too', async () => {
  const world = createWorld({
    argv: BIND,
    plugins: [
      {
        ...shop(),
        setup: ({ log }) => ({ start: async () => log.warn({ tills: 2 }, 'the door squeaks') }),
      },
    ],
    terminal: true,
    onWrite: signalAt('Ready', 'SIGINT'),
  })
  const { stdout } = await world.run()
  world.remove()
  assert.match(stdout, 'the door squeaks')
  assert.not.match(stdout, '"msg"')
})

test('a server that listens on every network names an address that a request can be sent to', async () => {
  const world = createWorld({
    argv: ['serve', '--bind', '0.0.0.0:0'],
    plugins: [shop()],
    terminal: true,
    onWrite: signalAt('Ready', 'SIGINT'),
  })
  const { stdout } = await world.run()
  world.remove()
  assert.match(stdout, /Try: curl http:\/\/(localhost|127\.0\.0\.1):\d+\/metadata/)
})

test('a signal while it starts stops it gracefully', async () => {
  let stopped = false
  const never: Lifecycle = {
    start: (signal) => once(signal, 'abort').then(() => undefined),
    stop: async () => {
      stopped = true
    },
  }
  const world = createWorld({ argv: BIND, plugins: [shop(never)], onWrite: signalAt('"listening"', 'SIGTERM') })
  const { code, stdout } = await world.run()
  world.remove()
  assert.is(code, 0)
  assert.ok(stopped)
  assert.not.match(stdout, '"ready"')
})

test('a second signal ends the process at once', async () => {
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    const world = createWorld({
      argv: BIND,
      plugins: [shop()],
      onWrite: signalAt('"ready"', 'SIGTERM', signal),
    })
    await world.run()
    world.remove()
    assert.equal(world.exits, [code])
  }
})

test('a plugin that cannot keep what it had at the stop is exit code 1 and one line', async () => {
  const failing: Lifecycle = { stop: () => Promise.reject(new Error('the safe is full')) }
  const world = createWorld({ argv: BIND, plugins: [shop(failing)], onWrite: signalAt('"ready"', 'SIGTERM') })
  const { code, stdout, stderr } = await world.run()
  world.remove()
  assert.is(code, 1)
  assert.is(stderr, 'server: stopped, and not everything could be kept (shop); the log says what was lost\n')
  assert.match(stdout, 'the safe is full')
})

test('a server that a plugin gives up stops and ends with the code and the sentence of the plugin', async () => {
  const Lost = defineError('shop/lost', 503, 'transient', 'Another shop has the street.')
  for (const when of ['while it starts', 'when it is ready'] as const) {
    let host: Host | undefined
    const notes: string[] = []
    const world = createWorld({
      argv: BIND,
      plugins: [
        {
          ...shop(),
          setup(given) {
            host = given
            return {
              start: async () => {
                if (when === 'while it starts') given.fatal(Lost(), 75)
              },
              stop: async () => void notes.push('stopped'),
            }
          },
        },
      ],
      onWrite: (_world, text) => {
        if (when === 'when it is ready' && text.includes('"ready"')) host!.fatal(Lost(), 75)
      },
    })
    const { code, stderr } = await world.run()
    world.remove()
    assert.equal([when, code, stderr, notes], [when, 75, 'server: Another shop has the street.\n', ['stopped']])
  }
})

test('after it ended it listens to no signal', async () => {
  const world = createWorld({ argv: BIND, plugins: [shop()], onWrite: signalAt('"ready"', 'SIGTERM') })
  await world.run()
  world.send('SIGTERM')
  world.send('SIGTERM')
  world.remove()
  assert.equal(world.exits, [])
})

const refusing = async (options: TestWorldOptions) => {
  const world = createWorld(options)
  const ran = await world.run()
  world.remove()
  return ran
}

test('a port that is taken is one line with what to do, and exit code 1', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as { port: number }
  const { code, stderr } = await refusing({ argv: ['--bind', `127.0.0.1:${port}`], plugins: [shop()] })
  other.close()
  assert.is(code, 1)
  assert.is(
    stderr,
    `server: cannot listen on 127.0.0.1:${port}: another process listens there; stop it, or choose another address with --bind host:port\n`,
  )
})

test('a plugin that cannot start is one line with its name, and exit code 1; what had started is stopped', async () => {
  let stopped = false
  const failing: Lifecycle = {
    start: async () => {
      throw new Error('the door\nis stuck')
    },
    stop: async () => {
      stopped = true
    },
  }
  const { code, stderr } = await refusing({ argv: BIND, plugins: [shop(failing)] })
  assert.is(code, 1)
  assert.is(
    stderr,
    'server: The plugin "shop" cannot start: the door is stuck; SERVER_LOG_LEVEL=debug logs the cause\n',
  )
  assert.ok(stopped)
})

test('the cause of a failing start is in the debug log', async () => {
  const failing: Lifecycle = { start: () => Promise.reject(new Error('stuck', { cause: new Error('rust') })) }
  const { stdout } = await refusing({
    argv: BIND,
    plugins: [shop(failing)],
    environment: { SERVER_LOG_LEVEL: 'debug' },
  })
  assert.match(stdout, '"the server could not start"')
  assert.match(stdout, 'rust')
})

test('a secret in the message of a failing start is masked', async () => {
  const failing: Lifecycle = { start: () => Promise.reject(new Error('no entry for u with hunter2 at h')) }
  const { stderr, stdout } = await refusing({
    argv: [...BIND, '--log-level', 'debug'],
    plugins: [shop(failing)],
    environment: { SHOP_URL: 'postgresql://u:hunter2@h/db' },
  })
  assert.match(stderr, 'no entry for u with [secret] at h')
  assert.not.match(stderr + stdout, 'hunter2')
})

test('a plugin that cannot be set up is one line with its name, and exit code 2: it is a matter of settings', async () => {
  const { code, stderr } = await refusing({
    argv: BIND,
    plugins: [
      shop(undefined, () => {
        throw new Error('sslmode is unknown')
      }),
    ],
  })
  assert.is(code, 2)
  assert.is(stderr, 'server: The plugin "shop" cannot be set up: sslmode is unknown\n')
})

test('a secret in the message of a failing setup is masked', async () => {
  const { stderr } = await refusing({
    argv: BIND,
    plugins: [
      shop(undefined, () => {
        throw new Error('postgresql://u:hunter2@h/db has no sslmode')
      }),
    ],
    environment: { SHOP_URL: 'postgresql://u:hunter2@h/db' },
  })
  assert.is(stderr, 'server: The plugin "shop" cannot be set up: [secret] has no sslmode\n')
})

test('a variable that looks like one of the server is warned of', async () => {
  const world = createWorld({
    argv: BIND,
    plugins: [shop()],
    environment: { SERVER_PUBLIC_ULR: 'https://x', SERVER_PORT: 'tcp://10.0.0.1:80', SERVER_CONFIG: '' },
    onWrite: signalAt('"ready"', 'SIGTERM'),
  })
  const { stdout } = await world.run()
  world.remove()
  const warned = stdout.split('\n').filter((line) => line.includes('"warn"'))
  assert.is(warned.length, 1)
  assert.is(
    JSON.parse(warned[0]!).msg,
    'SERVER_PUBLIC_ULR is no variable of this server and does nothing; SERVER_PUBLIC_URL is one',
  )
})

test.run()
