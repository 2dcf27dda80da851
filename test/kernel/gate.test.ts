/** Why a ready server takes no request: a gate of a plugin, or a failure that it does not survive. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { defineError, type Host, type ServerError } from '../../kernel/index.ts'
import probes from '../../plugins/probes/index.ts'
import { kernelWith, pluginOf } from '../support/kernel-with.ts'
import { listening } from '../support/listening.ts'
import { connectTo } from '../support/raw-client.ts'
import { askForWebSocket } from '../support/websocket.ts'

const Lost = defineError('test/lost', 503, 'transient', 'Another server writes now.')

/** A route behind the router, one in front of it, and one that takes WebSockets. */
const pages = pluginOf('pages', ({ routes, direct }) => {
  routes((app, _options, done) => {
    app.get('/usual', async () => 'usual')
    app.get('/direct', async () => 'usual')
    app.get('/socket', { config: { upgrade: true } }, async () => 'socket')
    done()
  })
  direct({
    path: '/direct',
    meet: (url) => (url === '/direct' ? url : undefined),
    answer: () => ({ status: 200, headers: [], body: 'direct' }),
  })
})

const gated = (refusal: () => ServerError | undefined) => pluginOf('cluster', (host) => host.gate(refusal))

test('a gate refuses in front of the router and behind it; probes pass; it is asked for each request', async () => {
  let refusal: ServerError | undefined
  const { kernel, address, lines } = await listening([pages, probes, gated(() => refusal)])
  const ask = async (path: string) => {
    const answer = await fetch(address + path)
    return [answer.status, await answer.text()] as const
  }
  assert.equal(await ask('/direct'), [200, 'direct'])
  refusal = Lost().with({ headers: { 'retry-after': '2' } })
  for (const path of ['/direct', '/usual', '/nothing']) {
    const [status, text] = await ask(path)
    assert.is(status, 503, path)
    assert.match(text, 'Another server writes now.')
  }
  const client = await connectTo(address)
  client.send(askForWebSocket('/socket'))
  assert.match(await client.closed, /^HTTP\/1\.1 503 .*retry-after: 2\r\n/s)
  assert.is((await ask('/livez'))[0], 200)
  refusal = undefined
  assert.equal(await ask('/direct'), [200, 'direct'])
  assert.equal(await ask('/usual'), [200, 'usual'])
  assert.equal(lines, [])
  await kernel.stop()
})

test('several gates: the first that refuses is the answer', async () => {
  const First = defineError('test/first', 503, 'transient', 'The first gate is closed.')
  const { kernel, address } = await listening([
    pages,
    gated(() => undefined),
    pluginOf('first', (host) => host.gate(() => First())),
    pluginOf('second', (host) => host.gate(() => Lost())),
  ])
  assert.match(await (await fetch(`${address}/direct`)).text(), 'The first gate')
  await kernel.stop()
})

for (const [what, refusal] of [
  [
    'throws',
    () => {
      throw new Error('password of the pantry')
    },
  ],
  ['promises', async () => undefined],
  ['rejects', () => Promise.reject(new Error('late'))],
  ['gives something else', () => false],
] as const)
  test(`a gate that ${what} lets nobody through, and is logged by name`, async () => {
    const { kernel, address, lines } = await listening([pages, gated(refusal as () => undefined)])
    for (const path of ['/direct', '/usual']) {
      const answer = await fetch(address + path)
      assert.is(answer.status, 500)
      assert.not.match(await answer.text(), /pantry|cluster/)
    }
    assert.is(lines.filter(({ level, plugin }) => level === 'error' && plugin === 'cluster').length, 2)
    await kernel.stop()
  })

test('a gate is declared in setup only', async () => {
  let host: Host | undefined
  await kernelWith([
    pluginOf('late', (given) => {
      host = given
    }),
  ])
  assert.throws(() => host!.gate(() => undefined), /"late" calls gate after setup/)
})

/** A plugin that can declare the server lost. */
const doomed = () => {
  let host: Host | undefined
  const plugin = pluginOf('cluster', (given) => {
    host = given
  })
  return { plugin, fatal: (exitCode?: number) => host!.fatal(Lost().with({ detail: 'epoch 7' }), exitCode) }
}

test('after fatal all is 503 but probes, /readyz says so, and the kernel tells error and exit code', async () => {
  const { plugin, fatal } = doomed()
  const { kernel, address, lines } = await listening([pages, probes, plugin])
  fatal(75)
  for (const path of ['/direct', '/usual']) {
    const answer = await fetch(address + path)
    assert.is(answer.status, 503)
    assert.match(await answer.text(), 'The server has failed')
  }
  assert.is((await fetch(`${address}/livez`)).status, 200)
  const readyz = await fetch(`${address}/readyz`)
  assert.equal(
    [readyz.status, (await readyz.json()) as object],
    [503, { status: 'unavailable', reason: 'the server has failed' }],
  )
  assert.is(kernel.phase, 'failed')
  const { error, exitCode } = await kernel.failed
  assert.equal([error.key, exitCode], ['test/lost', 75])
  const line = lines.find(({ level }) => level === 'fatal')
  assert.equal([line?.plugin, line?.key, line?.detail], ['cluster', 'test/lost', 'epoch 7'])
  await kernel.stop()
  assert.is(kernel.phase, 'stopped')
})

test('the first failure counts, a code that would say success is 1, and later ones are logged', async () => {
  for (const [code, expected] of [
    [undefined, 1],
    [0, 1],
    [256, 1],
    [70, 70],
  ] as const) {
    const { plugin, fatal } = doomed()
    const { kernel, lines } = await kernelWith([plugin])
    await kernel.start()
    fatal(code)
    fatal(2)
    assert.is((await kernel.failed).exitCode, expected)
    assert.is(lines.filter(({ level }) => level === 'fatal').length, 2)
    await kernel.stop()
  }
})

test('fatal while the server starts ends the start: it rejects with that error, and what had started is stopped', async () => {
  const { plugin, fatal } = doomed()
  const notes: string[] = []
  const { kernel } = await kernelWith([
    plugin,
    pluginOf('waiting', () => ({
      start: (signal) =>
        new Promise<void>((resolve) => {
          signal.addEventListener('abort', () => resolve())
          fatal(75)
        }),
      stop: async () => void notes.push('stopped'),
    })),
    pluginOf('never', () => ({ start: async () => void notes.push('started') })),
  ])
  try {
    await kernel.start()
    assert.unreachable()
  } catch (error) {
    assert.is((error as ServerError).key, 'test/lost')
  }
  assert.equal([kernel.phase, notes], ['failed', ['stopped']])
  await kernel.stop()
})

test('fatal in setup lets nobody start', async () => {
  const notes: string[] = []
  const { kernel } = await kernelWith([
    pluginOf('doomed', (host) => host.fatal(Lost(), 75)),
    pluginOf('never', () => ({ start: async () => void notes.push('started') })),
  ])
  try {
    await kernel.start()
    assert.unreachable()
  } catch (error) {
    assert.is((error as ServerError).key, 'test/lost')
  }
  assert.equal([kernel.phase, notes, (await kernel.failed).exitCode], ['failed', [], 75])
  await kernel.stop()
})

test('fatal while it stops is told too, and the stop goes on', async () => {
  const { plugin, fatal } = doomed()
  const { kernel } = await kernelWith([plugin, pluginOf('last', () => ({ stop: async () => fatal(75) }))])
  await kernel.start()
  await kernel.stop()
  assert.is(kernel.phase, 'stopped')
  assert.is((await kernel.failed).exitCode, 75)
})

test('the handler of a bare server obeys gates too', async () => {
  const { kernel } = await kernelWith([pages, gated(() => Lost())])
  const server = createServer(kernel.handler).listen(0, '127.0.0.1')
  await once(server, 'listening')
  await kernel.start()
  const { port } = server.address() as AddressInfo
  assert.is((await fetch(`http://127.0.0.1:${port}/direct`)).status, 503)
  await kernel.stop()
  server.closeAllConnections()
  server.close()
})

test.run()
