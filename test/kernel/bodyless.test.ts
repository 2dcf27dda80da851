/** Requests without a body, for which Node makes no stream: what listens to one all the same is told. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { AnyPlugin } from '../../kernel/index.ts'
import { kernelWith, pluginOf } from '../support/kernel-with.ts'
import { connectTo } from '../support/raw-client.ts'
import { until } from '../support/until.ts'

/** Parsers and hooks of Fastify, in the hands of a plugin. */
const guest = (told: string[]): AnyPlugin =>
  pluginOf('guest', ({ routes }) =>
    routes((app, _options, done) => {
      app.addContentTypeParser('text/plain', { parseAs: 'string' }, (_request, text, parsed) =>
        parsed(null, `<${text}>`),
      )
      app.post('/say', async ({ body }) => ({ said: body }))
      app.addHook('onRequestAbort', async ({ method }) => void told.push(method))
      app.get('/wait', () => new Promise(() => told.push('waiting')))
      done()
    }),
  )

const listening = async (plugins: readonly AnyPlugin[]) => {
  const { kernel } = await kernelWith(plugins, { settings: { server: { bind: '127.0.0.1:0' } } })
  const address = await kernel.listen()
  await kernel.start()
  return { kernel, address }
}

test('a body that is announced by its type and never comes is an empty one to the parser of a plugin', async () => {
  const { kernel, address } = await listening([guest([])])
  const client = await connectTo(address)
  client.send('POST /say HTTP/1.1\r\nhost: x\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n')
  assert.match(await client.closed, '{"said":"<>"}')
  await kernel.stop()
})

test('a plugin is told that a client went away', async () => {
  const told: string[] = []
  const { kernel, address } = await listening([guest(told)])
  const client = await connectTo(address)
  client.send('GET /wait HTTP/1.1\r\nhost: x\r\n\r\n')
  await until(() => told.length === 1, 5_000, 'the handler')
  client.destroy()
  await until(() => told.length === 2, 5_000, 'the hook')
  assert.equal(told, ['waiting', 'GET'])
  await kernel.stop()
})

test.run()
