/** Schemas of Fastify in the routes of a plugin. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Kernel } from '../../kernel/index.ts'
import { kernelWith, pluginOf } from '../support/kernel-with.ts'

const shop = pluginOf('shop', ({ routes }) =>
  routes((app, _options, done) => {
    app.post(
      '/order',
      {
        schema: {
          body: {
            type: 'object',
            required: ['count'],
            properties: { count: { type: 'integer', minimum: 1 } },
            additionalProperties: false,
          },
          headers: { type: 'object', required: ['X-Shop'], properties: { 'X-Shop': { type: 'string', maxLength: 4 } } },
          response: { 200: { type: 'object', properties: { count: { type: 'integer' } } } },
        },
      },
      async ({ body }) => ({ count: (body as { count: number }).count, secret: 'margin' }),
    )
    done()
  }),
)

const order = async (kernel: Kernel, payload: object | string, headers: Record<string, string>) => {
  const { statusCode, body } = await kernel.inject({ method: 'POST', url: '/order', payload, headers })
  return { statusCode, body: JSON.parse(body) as unknown }
}

test('bodies and header fields are checked, and an answer has what its schema names', async () => {
  const { kernel } = await kernelWith([shop])
  await kernel.start()
  const good = await order(kernel, { count: 2 }, { 'X-Shop': 'main' })
  assert.equal(good, { statusCode: 200, body: { count: 2 } })
  const refused = (detail: string) => ({
    statusCode: 400,
    body: {
      resourceType: 'OperationOutcome',
      issue: [
        {
          severity: 'error',
          code: 'invalid',
          diagnostics: `The request does not meet the schema of this address: ${detail}.`,
        },
      ],
    },
  })
  assert.equal(await order(kernel, { count: 0 }, { 'x-shop': 'main' }), refused('body/count must be >= 1'))
  assert.equal(
    await order(kernel, { count: 2, cuont: 3 }, { 'x-shop': 'main' }),
    refused('body must NOT have additional properties'),
  )
  for (const text of ['{"count": ', '']) {
    const { statusCode, body } = await order(kernel, text, { 'x-shop': 'main', 'content-type': 'application/json' })
    assert.is(statusCode, 400)
    assert.match(JSON.stringify(body), /The request body is not valid JSON\./)
  }
  assert.equal(await order(kernel, { count: 2 }, {}), refused("headers must have required property 'x-shop'"))
  assert.equal(
    await order(kernel, { count: 2 }, { 'x-shop': 'longer' }),
    refused('headers/x-shop must NOT have more than 4 characters'),
  )
  await kernel.stop()
})

test('without schemas their compilers are not loaded', () => {
  const script = `
    import { createRequire } from 'node:module'
    import { createKernel } from './kernel/index.ts'
    import probes from './plugins/probes/index.ts'
    const kernel = await createKernel({ plugins: [probes], log: { level: 'silent' } })
    await kernel.start()
    const { statusCode } = await kernel.inject('/livez')
    await kernel.stop()
    const loaded = Object.keys(createRequire(import.meta.url).cache)
    console.log(statusCode, loaded.some((path) => path.includes('fastify')), loaded.some((path) => /ajv|fast-json-stringify.index/.test(path)))`
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--input-type=module-typescript', '-e', script], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    encoding: 'utf8',
  })
  assert.is(status, 0, stderr)
  assert.is(stdout, '200 true false\n')
})

test.run()
