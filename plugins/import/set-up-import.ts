/** Adds $import, its addresses and its kind of job. */
import type { FastifyPluginCallback } from 'fastify'
import type { Clock, Lifecycle, Random, Runners } from '../../kernel/index.ts'
import type { Database } from '../database/service.ts'
import type { Fhir, Resources } from '../fhir/service.ts'
import { createPollLimit, type Jobs } from '../jobs/service.ts'
import type { Model } from '../model/service.ts'
import { createAllowedSources } from './allowed-sources.ts'
import { IMPORT_KIND, importOperation, refusedOperation } from './operations.ts'
import { importRoutes } from './routes.ts'
import { createRunImport } from './run-import.ts'
import { forgetErrors, forgetJobRanges, forgetJobSources } from './tables.ts'

export interface ImportParts {
  /** The section [import]. */
  readonly settings: {
    readonly sources: readonly string[]
    readonly inside_hosts: readonly string[]
    readonly max_file_bytes: number
  }
  readonly database: Database
  readonly jobs: Jobs
  readonly fhir: Fhir
  readonly resources: Resources
  readonly model: Model
  readonly run: Runners
  readonly routes: (plugin: FastifyPluginCallback) => void
  readonly clock: Clock
  readonly random: Random
  /** False for a command. */
  readonly serves: boolean
}

/** Throws `SourceSetting` for an invalid source. */
export const setUpImport = (parts: ImportParts): Lifecycle | undefined => {
  const { settings, database, jobs, fhir, resources, model, run, routes, clock, random, serves } = parts
  const allowed = createAllowedSources(settings.sources, settings.inside_hosts)
  // Without sources, jobs from before are still cleaned up.
  jobs.add({
    kind: IMPORT_KIND,
    run: createRunImport({ database, resources, clock, allowed, maxFileBytes: settings.max_file_bytes }),
    async forget(transaction, id) {
      await transaction.run(forgetJobRanges, [`${id}-`])
      await transaction.run(forgetJobSources, [`${id}-`])
      await transaction.run(forgetErrors, [id])
    },
  })
  if (allowed.isEmpty) {
    fhir.operation(refusedOperation())
    return undefined
  }
  const isType = (name: string): boolean => model.catalog.types.has(name)
  fhir.operation(importOperation({ database, jobs, random, allowed, isType }))
  routes(importRoutes({ database, jobs, polls: createPollLimit(clock), run, clock }))
  let close: (() => Promise<void>) | undefined
  return {
    async start() {
      // Only the server that writes may change resources.
      if (serves && !database.isReader) close = jobs.open(IMPORT_KIND)
    },
    stop: async () => close?.(),
  }
}
