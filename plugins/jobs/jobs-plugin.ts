/** Makes the plugin. Tests with processes make one with shorter times. */
import { definePlugin } from '../../kernel/index.ts'
import { Database } from '../database/service.ts'
import * as errors from './errors.ts'
import { createJobs } from './jobs.ts'
import { Jobs } from './service.ts'
import { jobMigrations } from './tables.ts'
import type { Times } from './times.ts'

export const makeJobsPlugin = (times: Times) =>
  definePlugin({
    name: 'jobs',
    description: 'Runs work that outlives the process that began it',
    needs: { database: Database },
    provides: [Jobs],
    migrations: jobMigrations,
    errors,
    commands: { jobs: async () => (await import('./commands/jobs.ts')).default },
    setup({ needs: { database }, provide, clock, random, log, serves }) {
      const jobs = createJobs({ database, clock, random, log, times, cleans: serves })
      provide(Jobs, jobs.service)
      return { start: jobs.start, handOver: jobs.handOver, stop: jobs.stop }
    },
  })
