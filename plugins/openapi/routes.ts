/** Open to everybody, as /metadata is: it shows what the server can do, and no data. */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyPluginCallback } from 'fastify'
import { readAdminQuery } from '../../kernel/index.ts'
import type { Describe } from './description.ts'

/** Compresses off the main thread. */
const packed = promisify<string, Buffer>(gzip)

const takesGzip = (accepted: string | undefined): boolean =>
  /(^|,)\s*(gzip|\*)\s*(;\s*q=(1|0?\.\d*[1-9]\d*))?\s*(,|$)/i.test(accepted ?? '')

export const openApiRoute =
  (describe: Describe): FastifyPluginCallback =>
  (app, _options, done) => {
    app.get('/openapi.json', { config: { summary: 'This document.' } }, async ({ ctx, headers }, reply) => {
      readAdminQuery(ctx, [])
      const text = await describe(ctx)
      reply.header('content-type', 'application/json').header('vary', 'accept-encoding')
      if (!takesGzip(headers['accept-encoding'])) return reply.send(text)
      return reply.header('content-encoding', 'gzip').send(await packed(text))
    })
    done()
  }
