/** Open to everybody, as /metadata is: it shows what the server can do, and no data. */
import type { FastifyPluginCallback } from 'fastify'
import { readAdminQuery } from '../../kernel/index.ts'
import type { Describe } from './description.ts'

const CONFIG = { summary: 'This document.', compress: true }

export const openApiRoute =
  (describe: Describe): FastifyPluginCallback =>
  (app, _options, done) => {
    app.get('/openapi.json', { config: CONFIG }, async ({ ctx }, reply) => {
      readAdminQuery(ctx, [])
      return reply.header('content-type', 'application/json').send(await describe(ctx))
    })
    done()
  }
