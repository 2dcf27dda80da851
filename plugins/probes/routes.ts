/** GET /livez, /readyz, /healthz: without authentication or log lines; they read no resource. Spec: Endpoints. */
import type { FastifyPluginCallback } from 'fastify'
import type { Readiness } from '../../kernel/index.ts'
import type { DatabaseStatus } from '../database/service.ts'

export interface ProbeParts {
  readonly state: () => Promise<Readiness>
  readonly role: string
  /** Pool and commit counters; undefined while the database is not open. */
  readonly counters: () => DatabaseStatus | undefined
}

const JSON_TYPE = 'application/json; charset=utf-8'

export const probeRoutes =
  ({ state, role, counters }: ProbeParts): FastifyPluginCallback =>
  (app, _options, done) => {
    app.get('/livez', (_request, reply) => reply.header('content-type', JSON_TYPE).send('{"status":"ok"}'))
    app.get('/readyz', async (_request, reply) => {
      const now = await state()
      return reply
        .code(now.status === 'ok' ? 200 : 503)
        .header('content-type', JSON_TYPE)
        .send(JSON.stringify(now))
    })
    app.get('/healthz', async (request, reply) => {
      const now = await state()
      const verbose = (request.query as { verbose?: string }).verbose === '1'
      const body = { ...now, role, ...(verbose ? counters() : {}) }
      return reply
        .code(now.status === 'ok' ? 200 : 503)
        .header('content-type', JSON_TYPE)
        .send(JSON.stringify(body))
    })
    done()
  }
