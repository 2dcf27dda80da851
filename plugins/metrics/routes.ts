/** GET /metrics, for callers who may read the audit trail, since metrics show how the server is used. */
import type { FastifyPluginCallback } from 'fastify'
import { mountAdmin, type Runners, readAdminQuery } from '../../kernel/index.ts'
import type { MetricsCollector } from './collector.ts'

export const metricsEndpoint =
  (run: Runners, text: MetricsCollector['text']): FastifyPluginCallback =>
  (app, _options, done) => {
    // Requested every few seconds, and shows nothing about callers: events of it would bury the rest of the audit
    // trail.
    mountAdmin(app, run, {
      path: '/metrics',
      summary: 'Figures for Prometheus.',
      audited: false,
      answer(request) {
        readAdminQuery(request, [])
        return text()
      },
    })
    done()
  }
