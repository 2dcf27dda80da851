/** GET /livez, /readyz, /healthz: never logged, without authentication but for `verbose=1`; they read no resource. Spec: Endpoints. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyPluginCallback } from 'fastify'
import type { Host, Readiness } from '../../kernel/index.ts'
import type { DatabaseStatus } from '../database/service.ts'
import { TokenRequired } from './errors.ts'

export interface ProbeParts {
  readonly state: () => Promise<Readiness>
  readonly role: () => string
  /** Pool and commit counters; undefined while the database is not open. */
  readonly counters: () => DatabaseStatus | undefined
  readonly identify: Host['identify']
}

const JSON_TYPE = 'application/json; charset=utf-8'

/** Spec: Authentication 2. Throws 401 where callers have tokens and none, or an unknown one, was sent. */
const requireCaller = async (identify: Host['identify'], ...request: [IncomingMessage, ServerResponse]) => {
  const caller = await identify(...request, '/healthz')
  if (caller?.kind === 'anonymous') throw TokenRequired().with({ headers: { 'www-authenticate': 'Bearer' } })
}

export const probeRoutes =
  ({ state, role, counters, identify }: ProbeParts): FastifyPluginCallback =>
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
      const isAsked = (request.query as { verbose?: string }).verbose === '1'
      // A server that is not ready can neither know tokens nor has it counters to show.
      const verbose = isAsked && now.status === 'ok'
      if (verbose) await requireCaller(identify, request.raw, reply.raw)
      const body = { ...now, role: role(), ...(verbose ? counters() : {}) }
      return reply
        .code(now.status === 'ok' ? 200 : 503)
        .header('content-type', JSON_TYPE)
        .send(JSON.stringify(body))
    })
    done()
  }
