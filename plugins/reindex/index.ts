/** `server reindex`: the search index is rebuilt by a job. */
import { definePlugin } from '../../kernel/index.ts'
import { Database } from '../database/service.ts'
import { Jobs } from '../jobs/service.ts'
import { Reindexing } from '../search/service.ts'
import * as errors from './errors.ts'
import { createReindexJobs, REINDEX_KIND } from './reindex-jobs.ts'
import { ReindexJobs } from './service.ts'

export default definePlugin({
  name: 'reindex',
  description: 'Rebuilds the search index in a job: server reindex',
  needs: { database: Database, jobs: Jobs, reindexing: Reindexing },
  provides: [ReindexJobs],
  errors,
  commands: { reindex: async () => (await import('./commands/reindex.ts')).default },
  setup({ needs, provide, clock, random, serves }) {
    const { database, jobs } = needs
    provide(ReindexJobs, createReindexJobs({ ...needs, clock, random, isServed: serves }))
    let close: (() => Promise<void>) | undefined
    return {
      async start() {
        // Only the server that writes may change index rows.
        if (serves && !database.isReader) close = jobs.open(REINDEX_KIND)
      },
      stop: async () => close?.(),
    }
  },
})
