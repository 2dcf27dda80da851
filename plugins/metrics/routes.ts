/** GET /metrics: for callers who may read the audit trail, since it tells how the server is used. */
import type { FastifyPluginCallback } from 'fastify'
import { mountAdmin, type Runners, readAdminQuery } from '../../kernel/index.ts'
import type { MetricsCollector } from './collector.ts'

export const metricsEndpoint =
  (run: Runners, text: MetricsCollector['text']): FastifyPluginCallback =>
  (app, _options, done) => {
    // Every few seconds, and about nobody: a trail of that would bury the rest.
    mountAdmin(app, run, {
      path: '/metrics',
      audited: false,
      answer(request) {
        readAdminQuery(request, [])
        return text()
      },
    })
    done()
  }
