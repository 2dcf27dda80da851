/** Adds $export, its addresses and its kind of job, where a folder is set. */
import type { FastifyPluginCallback } from 'fastify'
import type { Clock, Lifecycle, Logger, Random, Runners } from '../../kernel/index.ts'
import type { Database } from '../database/service.ts'
import type { Fhir, Resources } from '../fhir/service.ts'
import { createPollLimit, type Jobs } from '../jobs/service.ts'
import type { Model } from '../model/service.ts'
import type { Searches } from '../search/service.ts'
import type { Storage } from '../storage/service.ts'
import { createExportFolder } from './export-folder.ts'
import { EXPORT_KIND, exportOperations } from './operations.ts'
import { exportRoutes } from './routes.ts'
import { createRunExport } from './run-export.ts'
import { deleteParts } from './tables.ts'

export interface ExportParts {
  readonly dir: string
  readonly database: Database
  readonly jobs: Jobs
  readonly fhir: Fhir
  readonly resources: Resources
  readonly model: Model
  readonly searches: Searches
  readonly storage: Storage
  readonly run: Runners
  readonly routes: (plugin: FastifyPluginCallback) => void
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

export const setUpExport = (parts: ExportParts): Lifecycle => {
  const { dir, database, jobs, fhir, resources, model, searches, storage, run, routes, clock, random, log } = parts
  const folder = createExportFolder(dir)
  const server = resources.as({ kind: 'internal', purpose: EXPORT_KIND })
  const late = () => ({
    store: storage.store,
    spec: {
      types: model.catalog.types,
      isReadElsewhere: fhir.isReadElsewhere,
      inCompartment: new Set(Object.keys(searches.opened.search.registry.compartments.Patient ?? {})),
      matches: server.matches,
      clock,
    },
  })
  for (const operation of exportOperations({ database, jobs, random, late })) fhir.operation(operation)
  routes(exportRoutes({ database, jobs, resources, folder, polls: createPollLimit(clock), run, clock }))
  jobs.add({
    kind: EXPORT_KIND,
    run: createRunExport({ database, resources, folder, types: () => model.catalog.types }),
    forget: (transaction, id) => transaction.run(deleteParts, [id]),
    discard: folder.remove,
    sweep: (isKnown) => folder.sweep(isKnown, clock.now()),
  })
  let close: (() => Promise<void>) | undefined
  return {
    async start() {
      await folder
        .prepare()
        .catch((error) => log.warn({ err: error }, 'the folder of [export] dir cannot be made; exports will fail'))
      close = jobs.open(EXPORT_KIND)
    },
    stop: async () => close?.(),
  }
}
