/**
 * The pages of /_console. A page that shows what an address such as /_audit shows is ruled on and recorded under the name of
 * that address, and a replica asks the primary for it as it does for the address.
 */
import type { FastifyPluginCallback } from 'fastify'
import { type AdminAnswer, type Clock, mountAdmin, type RequestContext, type Runners } from '../../kernel/index.ts'
import type { Trail } from '../audit/service.ts'
import type { Jobs } from '../jobs/service.ts'
import type { Metering } from '../metering/service.ts'
import type { StoredRequests } from '../request-log/service.ts'
import { auditPage } from './pages/audit-page.ts'
import { jobPage } from './pages/job-page.ts'
import { jobsPage } from './pages/jobs-page.ts'
import { overviewPage } from './pages/overview-page.ts'
import { searchPage } from './pages/search-page.ts'
import { slowPage } from './pages/slow-page.ts'
import { usagePage } from './pages/usage-page.ts'
import type { ResourceCounts } from './resource-counts.ts'
import type { ServerFacts } from './server-facts.ts'

export interface ConsoleParts {
  readonly run: Runners
  readonly clock: Clock
  readonly facts: { read(): Promise<ServerFacts> }
  readonly counts: () => Promise<ResourceCounts | undefined>
  /** Names of the resource types of the installed packages. */
  readonly types: () => readonly string[]
  /** Undefined where their plugin is disabled, or stores nothing. */
  readonly jobs: Jobs | undefined
  readonly metering: Metering | undefined
  readonly requests: StoredRequests | undefined
  readonly trail: Trail | undefined
}

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
