/**
 * The pages of /_console. A page that shows what an address such as /_audit shows is ruled on and recorded under the name of
 * that address, and a replica asks the primary for it as it does for the address.
 */
import type { FastifyPluginCallback } from 'fastify'
import { type AdminAnswer, mountAdmin, type RequestContext } from '../../kernel/index.ts'
import type { ConsoleParts } from './console-parts.ts'
import { auditPage } from './pages/audit-page.ts'
import { jobPage } from './pages/job-page.ts'
import { jobsPage } from './pages/jobs-page.ts'
import { overviewPage } from './pages/overview-page.ts'
import { searchPage } from './pages/search-page.ts'
import { slowPage } from './pages/slow-page.ts'
import { usagePage } from './pages/usage-page.ts'

export const consoleRoutes =
  (parts: ConsoleParts): FastifyPluginCallback =>
  (app, _options, done) => {
    const mount = (
      path: string,
      summary: string,
      answer: (request: RequestContext) => Promise<AdminAnswer>,
      shown: { readonly operation?: string; readonly source?: { flush(): Promise<void> } | undefined } = {},
    ): void => {
      const { operation = '_console', source } = shown
      mountAdmin(app, parts.run, {
        path,
        operation,
        summary,
        answer,
        ...(source !== undefined && { beforeRelay: () => source.flush() }),
      })
    }
    const { trail, metering, requests } = parts
    mount('/_console', 'Page for operators: status of this server.', overviewPage(parts))
    mount('/_console/search', 'Page for operators: leads to a search.', searchPage(parts))
    mount('/_console/jobs', 'Page for operators: jobs.', jobsPage(parts))
    mount('/_console/jobs/:id', 'Page for operators: one job.', jobPage(parts))
    mount('/_console/audit', 'Page for operators: the audit trail.', auditPage(parts), {
      operation: '_audit',
      source: trail,
    })
    mount('/_console/usage', 'Page for operators: usage by day and client.', usagePage(parts), {
      operation: '_usage',
      source: metering,
    })
    mount('/_console/slow', 'Page for operators: the slowest of the stored requests.', slowPage(parts), {
      operation: '_requests',
      source: requests,
    })
    done()
  }
