/** Work that asks late whether its client is still there, because it waited for something else before. */
import { connect, type Socket } from 'node:net'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { kernelWith, pluginOf } from '../support/kernel-with.ts'

const LEAVES: Readonly<Record<string, (client: Socket) => unknown>> = {
  'resets the connection': (client) => client.resetAndDestroy(),
  'closes the connection': (client) => client.destroy(),
  'closes its side of the connection': (client) => client.end(),
}

for (const [how, leave] of Object.entries(LEAVES))
  test(`the signal of a request is aborted where it is first asked for after the client ${how}`, async () => {
    const arrived = Promise.withResolvers<Socket>()
    const gate = Promise.withResolvers<void>()
    const isAborted = Promise.withResolvers<boolean>()
    const plugin = pluginOf('house', ({ routes }) =>
      routes((app, _options, done) => {
        app.get('/waits', async ({ ctx, raw }) => {
          arrived.resolve(raw.socket)
          await gate.promise
          isAborted.resolve(ctx.signal.aborted)
          return {}
        })
        done()
      }),
    )
    const { kernel } = await kernelWith([plugin], { settings: { server: { bind: '127.0.0.1:0' } } })
    const { hostname, port } = new URL(await kernel.listen())
    await kernel.start()
    const client = connect({ host: hostname, port: Number(port) })
    client.on('error', () => undefined)
    client.write('GET /waits HTTP/1.1\r\nhost: h.test\r\n\r\n')
    const socket = await arrived.promise
    const event = how === 'closes its side of the connection' ? 'end' : 'close'
    const hasLeft = new Promise((resolve) => socket.once(event, resolve))
    leave(client)
    await hasLeft
    gate.resolve()
    assert.ok(await isAborted.promise)
    client.destroy()
    await kernel.stop()
  })

test.run()
